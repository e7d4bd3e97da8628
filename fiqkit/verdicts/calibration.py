"""What a grader or a judge did with answers or questions that people ruled on, kept beside the user's model cards.

`fiqkit grade --file RULED --calibrate` writes it, and reports correct their rates by it where they are given no rulings
of their own. One entry a giver of verdicts, whose name holds the model's and its weights' hash; the rules' entry is of
one version of the kit:

    {"grader llm qwen2.5-32b@9f3c2a1b": {"hits": 58, "right": 60, "passes": 66, "wrong": 70,
                                         "ruled": "grade.jsonl@1c5e9a07", "fiqkit": "0.1.0"}}
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fiqkit import __version__
from fiqkit.errors import UserError
from fiqkit.metrics.corrected import Instrument
from fiqkit.whole_file import write_text

COUNTS = ("hits", "right", "passes", "wrong")


def calibration_file(cards: Path | None = None, named: Path | None = None) -> Path:
    """Where calibrations are kept: the file that is named, beside the user's cards, or in the user's settings.

    Raises:
        UserError: the file that is named is not there.
    """
    if named and not named.is_file():
        raise UserError(f"{named}: no such file; make one with fiqkit grade --file RULED --calibrate")
    if named:
        return named
    own = cards or os.environ.get("FIQKIT_CARDS")
    if own:
        return Path(own).with_name("calibration.json")
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "fiqkit" / "calibration.json"


def calibrate(role: str, giver: str, instrument: Instrument, ruled: Path, cards: Path | None = None) -> Path:
    """Keep what a role did with a ruled file; returns the file it is kept in.

    Raises:
        UserError: no rate could be corrected by it, so that it is not kept.
    """
    if instrument.refusal:
        raise UserError(f"{ruled}: {giver} is not calibrated by it: {instrument.refusal}; give other rulings")
    path = calibration_file(cards)
    entry = {name: getattr(instrument, name) for name in COUNTS}
    about = {"ruled": f"{ruled.name}@{hashlib.sha256(ruled.read_bytes()).hexdigest()[:8]}", "fiqkit": __version__}
    kept = {**_read(path), f"{role} {giver}": {**entry, **about}}
    try:
        write_text(path, json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    except UserError as error:
        raise UserError(f"{error}; set FIQKIT_CARDS to a folder of yours") from error
    return path


def calibrated(role: str, giver: str, path: Path) -> tuple[Instrument, str] | None:
    """A role's counts and what it was held against, from a file of calibrations; None where it has none.

    Raises:
        UserError: the file is no file of calibrations.
    """
    entry = _read(path).get(f"{role} {giver}")
    if entry is None or (giver == "rules" and entry.get("fiqkit") != __version__):
        return None
    try:
        instrument = Instrument(*(int(entry[name]) for name in COUNTS))
        if not (0 <= instrument.hits <= instrument.right and 0 <= instrument.passes <= instrument.wrong):
            raise ValueError("more hits than there were")
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: the entry {role} {giver!r} lacks its counts ({error}); make it again with --calibrate"
        ) from error
    return instrument, str(entry.get("ruled", "?"))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no file of calibrations can be read ({error}); mend or remove it") from error
    if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
        raise UserError(f"{path}: a file of calibrations is an object of objects; mend or remove it")
    return found

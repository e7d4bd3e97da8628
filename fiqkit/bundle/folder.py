"""The bundle as a folder: what goes into it, and whether all of it is still as it was.

OUT/
  install.sh  SHA256SUMS  manifest.json  sbom.json  constraints.txt  cards.toml
  wheels/*.whl
  weights/CARD/…
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from fiqkit import __version__
from fiqkit.bundle.sbom import sbom
from fiqkit.bundle.weights import cards_file, carry, of_card
from fiqkit.bundle.wheels import Target, fetch, installed_size
from fiqkit.errors import UserError, need
from fiqkit.models.cards.cards import Card

SUMS, MANIFEST = "SHA256SUMS", "manifest.json"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle is to hold: the extras of the kit, the cards whose weights travel, and for which machine."""

    extras: tuple[str, ...] = ("local", "embed")
    cards: tuple[Card, ...] = ()
    target: Target = field(default_factory=Target)

    def sizes(self) -> dict[str, int]:
        """Bytes by part, before anything is fetched. A wheel takes a half to a quarter of its installed size."""
        weights = {f"weights {c.name}": sum(p.stat().st_size for p in of_card(c)) for c in self.cards}
        return {"packages as installed": installed_size(self.extras)} | weights


def write(out: Path, contents: Contents, say: Callable[[str], None]) -> dict[str, Any]:
    """Fill the folder; what an interrupted call left there is used. Returns the manifest.

    Raises:
        UserError: weights that are not here or not safe, a wheel that cannot be had, a folder that cannot be written.
    """
    need("the bill of materials", "bundle", "cyclonedx")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for stale in (SUMS, MANIFEST):  # a folder that is being filled must not pass for a whole one
            (out / stale).unlink(missing_ok=True)
        constraints = out / "constraints.txt"
        constraints.write_text(files("fiqkit").joinpath("constraints.txt").read_text("utf-8"), "utf-8")
        fetch(out / "wheels", contents.extras, contents.target, constraints, say)
        say("weights")
        carry(contents.cards, out)
        if text := cards_file(contents.cards):
            (out / "cards.toml").write_text(text, "utf-8")
        script = files("fiqkit.bundle").joinpath("install.sh").read_text("utf-8")
        filled = script.replace("@PYTHON@", contents.target.python).replace("@EXTRAS@", ",".join(contents.extras))
        (out / "install.sh").write_text(filled, "utf-8")
        say("hashes and the bill of materials")
        digests = _digests(out, {"sbom.json"})
        (out / "sbom.json").write_text(sbom(out, digests, {c.name: c.license for c in contents.cards}), "utf-8")
        digests["sbom.json"] = _sha256(out / "sbom.json")
        manifest = _manifest(out, contents, digests)
        (out / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        digests[MANIFEST] = _sha256(out / MANIFEST)
        (out / SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items())), "utf-8")
    except OSError as error:
        raise UserError(f"{out}: the bundle cannot be written ({error}); mend that and call it again") from error
    return manifest


def verify(out: Path) -> int:
    """Hash every file again. Returns how many there are.

    Raises:
        UserError: no finished bundle, or a file that is missing, changed or was added; names the first.
    """
    try:
        lines = (out / SUMS).read_text("utf-8").splitlines()
    except OSError:
        raise UserError(f"{out}: no finished bundle (no {SUMS}); call `fiqkit bundle {out}` again") from None
    stated = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    found = _digests(out, {SUMS})
    for path in sorted(stated | found):
        if stated.get(path) != found.get(path):
            what = "is missing" if path not in found else "was added" if path not in stated else "was changed"
            raise UserError(f"{out}: {path} {what} since the bundle was made; carry it over again")
    return len(found)


def _manifest(out: Path, contents: Contents, digests: dict[str, str]) -> dict[str, Any]:
    return {
        "format": 1,
        "fiqkit": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "target": asdict(contents.target),
        "extras": list(contents.extras),
        "weights": {card.name: {"license": card.license} for card in contents.cards},
        "files": {path: {"sha256": d, "bytes": (out / path).stat().st_size} for path, d in sorted(digests.items())},
    }


def _digests(out: Path, without: set[str]) -> dict[str, str]:
    paths = (path for path in out.rglob("*") if path.is_file() and not path.name.endswith(".part"))
    names = {str(path.relative_to(out)): path for path in paths}
    return {name: _sha256(path) for name, path in names.items() if name not in without}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

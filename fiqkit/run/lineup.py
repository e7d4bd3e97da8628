"""Line-ups: who plays which role under which budgets, as one TOML file or as options of `fiqkit run`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fiqkit.agent.modes import PRIMARY
from fiqkit.agent.world import CONFIDENCES
from fiqkit.errors import UserError
from fiqkit.taxonomy import LANGUAGES, RETRIEVALS

FOLDER = Path(__file__).parent / "lineups"


@dataclass(frozen=True, slots=True)
class Lineup:
    """The roles and budgets of a run. A role is `rules`, another deterministic kind, or a model card.

    Attributes:
        agent: cards or reference policies, one run of episodes each.
        thinking: for each card, the thinking modes to run it in: "on", "off"; empty leaves the template's default.
        max_tokens: of one reply of the agent.
        result_tokens: a search result holds whole chunks up to about this many tokens.
        context: tokens of prompt and reply together that each model is opened with; None takes the card's.
        in_flight: episodes in flight for each agent; None asks the engine.
        retrieval: what a search returns (index, own, own+spans, intended-span); None: the index.
        passage_chars: an own passage is cut after so many characters, as the paper did; None leaves it whole.
        confidence: "action" as part of the answer, "post-hoc" in a call of its own after it.
        prompt_language: language of the prompts, "en" or "zh"; None takes each instance's.
        notice: what to look at in the table; printed under it.
        constructor, verifier, teacher: models for building instances and demonstrations; a run does not load them.
    """

    agent: tuple[str, ...] = ("smollm2-135m",)
    simulator: str = "rules"
    grader: str = "rules"
    judge: str = "rules"
    constructor: str = "rules"
    verifier: str = "rules"
    teacher: str = "rules"
    modes: tuple[str, ...] = PRIMARY
    thinking: tuple[str, ...] = ()
    turns: int = 12
    questions: int = 6
    k: int = 3
    result_tokens: int = 1000
    max_tokens: int = 512
    temperature: float = 0.0
    context: int | None = None
    in_flight: int | None = None
    retrieval: str | None = None
    passage_chars: int | None = None
    confidence: str = "action"
    prompt_language: str | None = None
    notice: str | None = None


_KINDS: dict[str, tuple[type, ...]] = {
    "tuple[str, ...]": (tuple,),
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int,),
    "str | None": (str,),
}
_ONE_OF = {"retrieval": RETRIEVALS, "confidence": CONFIDENCES, "prompt_language": LANGUAGES}


def names() -> list[str]:
    """The bundled line-ups."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Lineup:
    """A bundled line-up by name, or one from a TOML file.

    Raises:
        UserError: no such line-up, no TOML, or a key that is unknown or of the wrong type.
    """
    path = FOLDER / f"{name}.toml"
    if not path.exists():
        path = Path(name)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(
            f"line-up {name!r}: {error.strerror}; the bundled ones are {', '.join(names())}, or give a TOML file"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file ({error})") from error
    return override(Lineup(), table, str(path))


def override(lineup: Lineup, values: Mapping[str, Any], where: str) -> Lineup:
    """The line-up with some values replaced; lists become tuples. `where` begins each error message."""
    known = {field.name: str(field.type) for field in fields(Lineup)}
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise UserError(f"{where}: unknown key {key!r}; the keys are {', '.join(known)}")
        value = tuple(value) if isinstance(value, list) else value
        if not isinstance(value, _KINDS[known[key]]) or isinstance(value, bool):
            raise UserError(
                f"{where}: {key} is {value!r}; a value of type {known[key].removesuffix(' | None')} is needed"
            )
        if isinstance(value, int | float) and value < (0 if key == "temperature" else 1):
            raise UserError(f"{where}: {key} is {value}; it is too small")
        if key in _ONE_OF and value not in _ONE_OF[key]:
            raise UserError(f"{where}: {key} is {value!r}; it is one of {', '.join(_ONE_OF[key])}")
        checked[key] = value
    bad = [mode for mode in checked.get("thinking", ()) if mode not in ("on", "off")]
    if bad:
        raise UserError(f"{where}: thinking is {bad[0]!r}; it is on, off or both")
    return replace(lineup, **checked)

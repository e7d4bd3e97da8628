"""The episodes of a page: a small index that its list is drawn from, and every text once, in compressed pieces.

A page of 10,000 episodes shows the same passages and prompts thousands of times, so a long text is cut at its blank
lines, each part is kept once, and an episode holds their numbers:

    index      {"columns": {"id": [7, …], "model": {"of": ["qwen3-4b"], "at": [0, …]}, "block": [0, …], …},
                "instances": {"d/t1": ["t1", "What was …?", ["entity_scope"], "en"]}, "texts": [0, 812], …}
    block-0    {"7": {"opening": [["system", [0]], ["user", [1]]], "ending": "answered",
                "turns": [["search", {"query": "net income"}, "", [2, 3], "", ""], …], …}, …}
    texts-0    ["You are …", "What was …?", "[1] Meta Platforms · 10-K …", …]
    instances  {"d/t1": {"instance_id": "t1", "question": …}}

A text in a block is a string where it is short, else the list of its parts' numbers.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from fiqkit.datasets import instance_row
from fiqkit.metrics.errors import answered_by_template, error_flags, known_forms, primary_error
from fiqkit.metrics.scored import Scored
from fiqkit.records import Ending, Episode, Instance, Turn
from fiqkit.report.document import Report
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES

_SHORT = 60  # characters of a text that stands where it is used
_PIECE = 400_000  # characters that are compressed together
_BEGINNING = 90  # characters of an answer that the list shows
_TAGS = {"intended": "intended", "default": "default", "neither": "neither gold", "engine_error": "engine error"}


def pieces(report: Report, store: Store) -> dict[str, str]:
    """The page's data by the id of its element: `index`, `instances`, `block-N` and `texts-N`, gzip in base64."""
    instances = {run["dataset"]: store.instances(run["dataset"]) for run in report.runs}
    rows = {f"{key}/{name}": instance_row(i) for key, found in instances.items() for name, i in found.items()}
    blocks, texts = _Pieces("{", "}"), _Texts()
    places: dict[int, tuple[int, str]] = {}
    shown = {e.episode for e in report.scored}
    for run in report.runs:
        for number, episode in store.episodes(run["run"]):
            if number in shown:
                body = _json(_body(episode, store.verdicts(number), texts))
                places[number] = blocks.add(f'"{number}":{body}'), (episode.answer or "")[:_BEGINNING]
    found = {f"block-{n}": piece for n, piece in enumerate(blocks.all())}
    found |= {f"texts-{n}": piece for n, piece in enumerate(texts.pieces.all())}
    index = _index(report, instances, places) | {"blocks": len(blocks.all()), "texts": texts.firsts}
    return {"index": pack(_json(index)), "instances": pack(_json(rows))} | found


def pack(text: str) -> str:
    """Gzip in base64; the same text gives the same characters."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    return base64.b64encode(squeeze.compress(text.encode()) + squeeze.flush()).decode()


class _Pieces:
    """JSON members gathered into pieces of about one size, each compressed as soon as it is full."""

    def __init__(self, opening: str, closing: str) -> None:
        self._marks = opening, closing
        self._packed: list[str] = []
        self._open: list[str] = []
        self._size = 0

    def add(self, member: str) -> int:
        """Keep a member; returns the number of its piece."""
        if self._size > _PIECE:
            self._close()
        self._open.append(member)
        self._size += len(member)
        return len(self._packed)

    def all(self) -> list[str]:
        """Every piece."""
        if self._open:
            self._close()
        return self._packed

    def _close(self) -> None:
        opening, closing = self._marks
        self._packed.append(pack(opening + ",".join(self._open) + closing))
        self._open, self._size = [], 0


class _Texts:
    """Every long text once, cut at blank lines; `firsts` are the numbers that the pieces begin with."""

    def __init__(self) -> None:
        self.pieces = _Pieces("[", "]")
        self.firsts: list[int] = []
        self._numbers: dict[str, int] = {}

    def put(self, text: str) -> str | list[int]:
        """What stands in a block for a text: itself, or the numbers of its parts."""
        return text if len(text) <= _SHORT else [self._number(part) for part in text.split("\n\n")]

    def _number(self, part: str) -> int:
        if part not in self._numbers:
            number = self._numbers[part] = len(self._numbers)
            if self.pieces.add(_json(part)) == len(self.firsts):
                self.firsts.append(number)
        return self._numbers[part]


def _body(episode: Episode, verdicts: Sequence[Mapping[str, Any]], texts: _Texts) -> dict[str, Any]:
    """An episode in full, with every verdict on it."""
    return {
        "opening": [[message["role"], texts.put(message["content"])] for message in episode.opening],
        "turns": [_turn(turn, texts) for turn in episode.turns],
        "ending": str(episode.ending),
        "answer": texts.put(episode.answer or ""),
        "confidence": episode.confidence,
        "flags": list(episode.flags),
        "error": texts.put(episode.error or ""),
        "extra": texts.put(json.dumps(episode.extra, ensure_ascii=False, indent=1) if episode.extra else ""),
        "verdicts": [_verdict(verdict, texts) for verdict in verdicts],
    }


def _turn(turn: Turn, texts: _Texts) -> list[Any]:
    """[action, its fields, reasoning, what came back, why it was refused, the raw text where it says more]."""
    fields = {
        name: value if isinstance(value, int | float) else texts.put(value if isinstance(value, str) else _json(value))
        for name, value in turn.content.items()
        if value is not None
    }
    raw = "" if _says(turn.text, {"action": turn.action, **turn.content}) else turn.text
    return [turn.action, fields, *map(texts.put, (turn.reasoning, turn.observation, turn.refused or "", raw))]


def _says(text: str, action: Mapping[str, Any]) -> bool:
    """Whether what the agent wrote is the action, and nothing else."""
    try:
        return bool(json.loads(text) == action)
    except ValueError:
        return False


def _verdict(verdict: Mapping[str, Any], texts: _Texts) -> dict[str, Any]:
    told = {name: verdict[name] for name in ("kind", "turn", "given_by", "outcome", "value", "central")}
    told |= {name: None if verdict[name] is None else bool(verdict[name]) for name in ("is_intended", "is_default")}
    told |= {"why": texts.put(verdict["why"]), "touched": json.loads(verdict["touched"] or "[]") or []}
    return {name: value for name, value in told.items() if value not in (None, "", [])}


# --- index ----------------------------------------------------------------------------------------------------------


def _index(
    report: Report, instances: Mapping[str, Mapping[str, Instance]], places: Mapping[int, tuple[int, str]]
) -> dict[str, Any]:
    """What the list of episodes is drawn and filtered from, a column a field; repeated values by their number."""
    datasets = {run["run"]: run["dataset"] for run in report.runs}
    by_template = answered_by_template(report.scored)
    known = known_forms(report.scored)
    form = "touch" if "touch" in known else known[0]
    rows = [
        {
            "id": e.episode,
            "instance": f"{datasets[e.run]}/{e.instance_id}",
            "run": e.run,
            "model": e.model,
            "mode": e.mode,
            "outcome": outcome_name(e),
            "errors": [label for label in (primary_error(e, form), *error_flags(e, by_template)) if label],
            "asks": e.n_asks,
            "block": places[e.episode][0],
            "answer": places[e.episode][1],
        }
        for e in report.scored
    ]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    names = {name: category.title["en"] for name, category in CATEGORIES.items()}
    return {
        "names": _TAGS | names | {"en": "English", "zh": "中文"},
        "instances": {
            f"{key}/{name}": [name, i.question, list(i.categories), i.language]
            for key, found in instances.items()
            for name, i in found.items()
        },
        "columns": {name: _numbered(values) for name, values in columns.items()},
    }


def _numbered(values: list[Any]) -> dict[str, Any] | list[Any]:
    """A column: as it is, or where values repeat {"of": the values, "at": the number of each}."""
    numbers: dict[str, int] = {}
    at = [numbers.setdefault(_json(value), len(numbers)) for value in values]
    return {"of": [json.loads(text) for text in numbers], "at": at} if 2 * len(numbers) < len(values) else values


def outcome_name(e: Scored) -> str:
    """One word for what an episode came to: its ending where it gave no answer, else what the answer was."""
    if e.ending != Ending.ANSWERED:
        return str(e.ending)
    if e.outcome:
        return e.outcome
    if e.is_intended is None:
        return "unscored"
    return "intended" if e.is_intended else "default" if e.is_default else "neither"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

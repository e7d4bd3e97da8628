"""Constructor `llm`: a local model finds the ambiguity in a passage; the values stay those of the facts.

The model is shown numbered lines and instructions for one category, and names two or more lines that answer one
question, with the reading of each and what a user would say to fix it:

    {"viable": true, "question": "What was Acme's net income?", "readings": [
        {"line": 3, "reading": "attributable to the parent", "constraint": "only what belongs to shareholders"}, …]}

or `{"viable": false}`. It writes no number: each reading's value and proof are its line's. Three tries a passage; what
breaks a rule is a try that failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fiqkit.construct.miners.setting import WHOLE
from fiqkit.construct.orbits import Alternative, Orbit, Row, Source, apart
from fiqkit.construct.progress import Progress
from fiqkit.construct.wording import value
from fiqkit.models.engine import Engine, EngineError
from fiqkit.records import Interpretation
from fiqkit.roles.asking import Asker, NoVerdict, Refused, prompt
from fiqkit.taxonomy import CATEGORIES

TRIES = 3
_MOST = 4
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "viable": {"type": "boolean"},
        "question": {"type": "string", "maxLength": 160},
        "readings": {
            "type": "array",
            "maxItems": _MOST,
            "items": {
                "type": "object",
                "properties": {
                    "line": {"type": "integer"},
                    "reading": {"type": "string", "maxLength": 120},
                    "constraint": {"type": "string", "maxLength": 120},
                },
                "required": ["line", "reading", "constraint"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["viable"],
    "additionalProperties": False,
}


class LlmConstructor:
    """Makes orbits with a model; what it said before is taken from `progress`."""

    def __init__(
        self, engine: Engine, seed: int = 0, temperature: float = 0.7, progress: Progress | None = None
    ) -> None:
        self._engine, self._seed, self._temperature = engine, seed, temperature
        self._progress = progress or Progress()

    async def make(self, source: Source, rows: Sequence[Row], category: str) -> tuple[Orbit | None, str]:
        """An orbit over one category from the lines of a passage, or None and why: not viable, or no usable try."""
        language = source.language
        shown = "\n".join(
            f"{n}. {row.caption} | {value(row.quantity, language, '元')}" for n, row in enumerate(rows, 1)
        )
        asked = {"company": source.company, "period": source.period, "lines": shown}

        def usable(text: str) -> str:
            read_orbit(text, source, rows, category)
            return text

        told = {"category": category, "instructions": prompt(language, f"constructor_{category}")}
        why = ""
        for attempt in range(TRIES):
            draw = f"try {attempt}"

            async def put(asker: Asker, draw: str = draw) -> str:
                return await asker.ask(language, told, asked, usable, schema=_SCHEMA, draw=draw)

            try:
                text = await self._progress.ask(
                    self._engine, "constructor", self._temperature, self._seed, [language, told, asked, draw], put
                )
            except (NoVerdict, EngineError) as fault:
                why = str(fault)
                continue
            made = read_orbit(text, source, rows, category)
            return made, "" if made else "no viable ambiguity"
        return None, why


def read_orbit(text: str, source: Source, rows: Sequence[Row], category: str) -> Orbit | None:
    """The orbit that a reply describes; None where it says that there is none.

    Raises:
        Refused: lines that are not there, fewer than two readings, values that are not apart or of different kinds.
    """
    said = json.loads(text)
    if not said["viable"]:
        return None
    found = said.get("readings") or []
    if len(found) < 2 or not said.get("question"):
        raise Refused("a viable ambiguity needs a question and at least two readings")
    field = CATEGORIES[category].field
    alternatives: list[Alternative] = []
    for item in found:
        if not 1 <= item["line"] <= len(rows):
            raise Refused(f"there is no line {item['line']}")
        row = rows[item["line"] - 1]
        for other in alternatives:
            a, b = row.quantity, other.row.quantity
            if a.kind != b.kind or not apart(a.value, b.value, a.kind):
                raise Refused(f"lines {row.caption!r} and {other.row.caption!r} are of two kinds or too near")
        shared = {"entity": WHOLE[source.language], "period": source.period, "metric": row.topic}
        interpretation = Interpretation(**{**shared, field: item["reading"]})
        alternatives.append(Alternative(interpretation, row, item["constraint"].rstrip(".。 ")))
    if len({getattr(a.interpretation, field) for a in alternatives}) < len(alternatives):
        raise Refused("two readings are worded alike")
    topic = alternatives[0].row.topic
    taken = {a.row.caption for a in alternatives}
    around = tuple(row for row in rows if row.caption not in taken)
    orbit = Orbit(f"{category}/llm", topic, source, tuple(alternatives), around)
    return replace(orbit, question=said["question"])

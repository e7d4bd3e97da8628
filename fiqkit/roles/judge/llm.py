"""A judge played by a model: bounded replies, validated on return, retried once, never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fiqkit.models.engine import Engine, EngineError, Usage
from fiqkit.records import Judgement
from fiqkit.roles.asking import Asker, NoVerdict, Refused
from fiqkit.taxonomy import CATEGORIES

_JUDGE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {"type": "boolean"} for name in CATEGORIES},
        "central": {"enum": [*CATEGORIES, "generic", "none"]},
    },
    "required": [*CATEGORIES, "central"],
    "additionalProperties": False,
}
_CHINESE = re.compile(r"[一-鿿]")


class LlmJudge:
    """Classifies with a model, which sees the question's text and nothing else."""

    name = "llm"

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 0.0) -> None:
        self._asker = Asker(engine, "judge", temperature, seed)

    @property
    def usage(self) -> Usage:
        """What its verdicts took so far."""
        return self._asker.usage

    async def classify(self, question: str) -> Judgement:
        """Touched categories and the central one; central "unscored" when no usable reply could be had."""
        language = "zh" if _CHINESE.search(question) else "en"
        try:
            return await self._asker.ask(language, {}, {"asked": question}, self._read, schema=_JUDGE_SCHEMA)
        except (NoVerdict, EngineError) as fault:
            return Judgement((), "unscored", str(fault))

    def _read(self, text: str) -> Judgement:
        said = json.loads(text)
        touched = tuple(name for name in CATEGORIES if said[name])
        if touched and said["central"] not in touched:
            raise Refused(f"central {said['central']!r} is none of the kinds marked true")
        if not touched and said["central"] in CATEGORIES:
            raise Refused(f"central {said['central']!r} is marked false")
        return Judgement(touched, said["central"], f"by {self._asker.engine.name}")

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()

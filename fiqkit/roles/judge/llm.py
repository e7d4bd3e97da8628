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

# How far a question goes into a category: what is raised is named as well, so one word a category holds both.
_ABSENT, _NAMED, _RAISED = "absent", "named", "raised"
_JUDGE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {"enum": [_ABSENT, _NAMED, _RAISED]} for name in CATEGORIES},
        "central": {"enum": [*CATEGORIES, "generic", "none"]},
    },
    "required": [*CATEGORIES, "central"],
    "additionalProperties": False,
}
_CHINESE = re.compile(r"[一-鿿]")


class LlmJudge:
    """Classifies with a model, which sees the question's text and nothing else.

    It is asked for one object, for example of "Do you mean Acme's consolidated revenue?":

        {"entity_scope": "raised", "temporal_scope": "absent", "metric_definition": "named",
         "recognition_policy": "absent", "filing_vintage": "absent", "central": "entity_scope"}
    """

    def __init__(self, engine: Engine, seed: int = 0, temperature: float = 0.0) -> None:
        self._asker = Asker(engine, "judge", temperature, seed)

    @property
    def name(self) -> str:
        """What the store files its verdicts under."""
        return self._asker.giver("llm")

    @property
    def usage(self) -> Usage:
        """What its verdicts took so far."""
        return self._asker.usage

    async def classify(self, question: str) -> Judgement:
        """Named and touched categories and the central one; central "unscored" when no usable reply could be had."""
        language = "zh" if _CHINESE.search(question) else "en"
        try:
            return await self._asker.ask(language, {}, {"asked": question}, self._read, schema=_JUDGE_SCHEMA)
        except (NoVerdict, EngineError) as fault:
            return Judgement((), "unscored", str(fault))

    def _read(self, text: str) -> Judgement:
        said = json.loads(text)
        named = tuple(name for name in CATEGORIES if said[name] != _ABSENT)
        touched = tuple(name for name in CATEGORIES if said[name] == _RAISED)
        if said["central"] not in (touched or ("generic", "none")):
            raise Refused(f"central {said['central']!r} is not one of {', '.join(touched or ('generic', 'none'))}")
        return Judgement(touched, said["central"], f"by {self._asker.engine.name}", named)

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        return self._asker.describe()

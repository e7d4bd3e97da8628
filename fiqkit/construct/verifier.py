"""The adversarial verifier: is Q answered as intended by somebody who was not told C?

Ten trials answer Q without C and state the reading that they assumed. A trial is a vote against an instance if its
answer is A and its reading is the intended one in every field in which the two readings differ. Two votes reject. A
trial that fails is tried again and then is an error; with fewer than ten verdicts an instance is pending, never
accepted. In an orbit the headline is what anybody would answer, so siblings that intend another reading are tried, and
an orbit stays or goes as a whole.

`rules` guesses by the likeness of Q to the lines of the passage, in ten ways: a question whose words point to a reading
other than the headline is not ambiguous. `llm` asks one or two engines, five trials each; a second arm has the passage
at hand, and still no C.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fiqkit import values
from fiqkit.construct.progress import Progress
from fiqkit.construct.rules import Case
from fiqkit.models.engine import Engine, EngineError
from fiqkit.records import Instance, Interpretation
from fiqkit.roles.asking import Asker, NoVerdict
from fiqkit.roles.language.statement import read_interpretation
from fiqkit.taxonomy import FIELDS

TRIALS = 10
REJECTS = 2
ACCEPTED, REJECTED, PENDING = "accepted", "rejected", "pending"


@dataclass(frozen=True, slots=True)
class Guess:
    """What a trial answered, and the reading that it assumed."""

    answer: str
    interpretation: Interpretation


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the trials of one instance came to.

    Attributes:
        votes: trials that gave A and the intended reading; `errors`: trials that gave no verdict.
    """

    outcome: str
    votes: int
    trials: int
    errors: int = 0


def ruling(instance: Instance, guesses: Sequence[Guess | None]) -> Ruling:
    """Count the trials of an instance; None is a trial that failed."""
    given = [guess for guess in guesses if guess is not None]
    votes = sum(is_vote(instance, guess) for guess in given)
    errors = len(guesses) - len(given)
    if votes >= REJECTS:
        return Ruling(REJECTED, votes, len(given), errors)
    return Ruling(ACCEPTED if len(given) >= TRIALS else PENDING, votes, len(given), errors)


def is_vote(instance: Instance, guess: Guess) -> bool:
    """Whether a guess is A under the intended reading."""
    ours = values.find(instance.answer, instance.language)
    said = values.find(guess.answer, instance.language)
    right = bool(ours) and any(values.same(found, ours[0]) for found in said)
    return right and aligned(instance, guess.interpretation)


def aligned(instance: Instance, stated: Interpretation) -> bool:
    """Whether a stated reading matches the intended one in every field in which the two readings differ.

    A field matches by its words, or by what the lexicon reads in it, and only where it does not match the default's.
    """
    ours, default = instance.intended_interpretation, instance.default_interpretation
    return all(
        _matches(getattr(stated, name), getattr(ours, name), getattr(default, name), instance.question)
        for name in ours.differs_from(default)
    )


def _matches(said: str | None, ours: str | None, default: str | None, question: str) -> bool:
    if not said or not ours:
        return not said and not ours
    if _plain(said) == _plain(ours):
        return True
    if default and _plain(said) == _plain(default):
        return False
    read = {
        side: _values(text, question) for side, text in (("said", said), ("ours", ours), ("default", default or ""))
    }
    told = {name for name, value in read["ours"].items() if read["default"].get(name) != value}
    stated = told & read["said"].keys()
    if stated:
        return all(read["said"][name] == read["ours"][name] for name in stated)
    return _overlap(said, ours) > _overlap(said, default or "")


def _values(text: str, question: str) -> dict[str, frozenset[str]]:
    return read_interpretation(Interpretation(metric=text), question).values


def _plain(text: str) -> str:
    return " ".join(_tokens(text))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u3400-\u9fff]", text.lower())


def _overlap(one: str, other: str) -> float:
    a, b = set(_tokens(one)), set(_tokens(other))
    return len(a & b) / max(1, len(a | b))


# --- by rules -------------------------------------------------------------------------------------------------------

Likeness = Callable[[list[str], list[str]], float]


def _pairs(words: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(words))


def _bigrams(words: list[str]) -> set[str]:
    text = "".join(words)
    return {text[i : i + 2] for i in range(len(text) - 1)}


def _run(q: list[str], line: list[str]) -> float:
    """Longest run of the question's words in the line."""
    best = 0
    for start in range(len(q)):
        for end in range(start + 1, len(q) + 1):
            if any(line[i : i + end - start] == q[start:end] for i in range(len(line))):
                best = max(best, end - start)
    return float(best)


_SETTLED = 0.05  # likenesses this near are equal: the guess falls on the headline, as a reader's would
LIKENESSES: tuple[Likeness, ...] = (
    lambda q, line: len(set(q) & set(line)),
    lambda q, line: len(set(q) & set(line)) / max(1, len(set(q))),
    lambda q, line: float(set(q) <= set(line)),
    lambda q, line: len(_pairs(q) & _pairs(line)),
    lambda q, line: len(_pairs(q) & _pairs(line)) / max(1, len(_pairs(q))),
    lambda q, line: len(_bigrams(q) & _bigrams(line)) / max(1, len(_bigrams(q))),
    _run,
    lambda q, line: float(line[: len(q)] == q),
    lambda q, line: float(bool(line) and bool(q) and line[-1] == q[-1]),
    lambda q, line: float(bool(line) and bool(q) and line[0] == q[0]),
)


def guesses_by_rules(case: Case) -> list[Guess]:
    """Ten guesses at Q without C: the reading whose line is most like Q, the headline where several are."""
    one = case.instance
    listed = one.extra.get("readings") or []
    if not listed:
        return []
    order = sorted(range(len(listed)), key=lambda n: _is_headline(one, str(listed[n]["value"])), reverse=True)
    words = _metric_words(case)
    captions = [_tokens(str(listed[n].get("span", "")).rpartition("|")[0]) for n in order]
    found = []
    for likeness in LIKENESSES:
        scores = [likeness(words, caption) for caption in captions]
        best = next(n for n, score in enumerate(scores) if score >= max(scores) - _SETTLED)
        reading = listed[order[best]]
        fields = {k: v for k, v in reading["interpretation"].items() if k in FIELDS}
        found.append(Guess(str(reading["value"]), Interpretation(**fields)))
    return found


def _is_headline(one: Instance, value: str) -> bool:
    return value == (one.answer if one.headline_intended else one.default_answer)


_FORM = re.compile(
    r"\b(?:what|which|was|were|is|are|did|does|the|of|as|its|report|figure|give|for|i|am|looking|it|s)\b|"
    r"请问|的|是多少|为多少|披露|想了解|数值|多少|是",
)


def _metric_words(case: Case) -> list[str]:
    """What Q asks for: its words without the company and the form of a question."""
    return _tokens(_FORM.sub(" ", case.asked.lower()))


def orbit_ruling(cases: Sequence[Case]) -> Ruling:
    """The ruling on an orbit by rules: the strictest of those on its siblings that do not intend the headline."""
    tried = [c for c in cases if not c.instance.headline_intended]
    found = [ruling(case.instance, guesses_by_rules(case)) for case in tried]
    return max(found, key=lambda r: r.votes) if found else Ruling(PENDING, 0, 0)


# --- by models ------------------------------------------------------------------------------------------------------

_FIELD = {"type": "string", "maxLength": 120}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "maxLength": 60},
        "interpretation": {
            "type": "object",
            "properties": dict.fromkeys(FIELDS, _FIELD),
            "required": list(FIELDS),
            "additionalProperties": False,
        },
    },
    "required": ["answer", "interpretation"],
    "additionalProperties": False,
}
_RETRIES = 2


class LlmVerifier:
    """Ten trials by one engine, or five by each of two; what they said before is taken from `progress`."""

    def __init__(
        self, engines: Sequence[Engine], seed: int = 0, temperature: float = 1.0, progress: Progress | None = None
    ) -> None:
        self._engines, self._seed, self._temperature = engines, seed, temperature
        self._progress = progress or Progress()

    async def rule(self, case: Case, passage: bool = False) -> Ruling:
        """The ruling on one instance; with `passage` the arm that has the passage at hand."""
        import asyncio

        trials = [
            self._trial(self._engines[n % len(self._engines)], case, n, case.passage if passage else None)
            for n in range(TRIALS)
        ]
        return ruling(case.instance, await asyncio.gather(*trials))

    async def _trial(self, engine: Engine, case: Case, number: int, passage: str | None) -> Guess | None:
        """One trial; None when every attempt failed, which is an error and never a pass."""
        one = case.instance
        shown = {"question": one.question, "passage": passage or ""}
        for attempt in range(1 + _RETRIES):
            draw = f"trial {number} attempt {attempt}"

            async def put(asker: Asker, draw: str = draw) -> str:
                return await asker.ask(one.language, {}, shown, _usable, schema=_SCHEMA, draw=draw)

            try:
                said = await self._progress.ask(
                    engine, "verifier", self._temperature, self._seed, [one.language, shown, draw], put
                )
            except (NoVerdict, EngineError):
                continue
            return _read_guess(said)
        return None


def _usable(text: str) -> str:
    """The reply itself, once it is known to be read."""
    _read_guess(text)
    return text


def _read_guess(text: str) -> Guess:
    said = json.loads(text)
    fields = {name: said["interpretation"].get(name) or None for name in FIELDS}
    return Guess(str(said["answer"]), Interpretation(**fields))

"""The records that every room passes around.

Records are frozen; they are validated once, where a file is read (`datasets`), and trusted from there on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fiqkit.taxonomy import CATEGORIES, FIELDS


class Ending(StrEnum):
    """How an episode ended. Only `ANSWERED` carries a final answer; `ENGINE_ERROR` is never a wrong answer."""

    ANSWERED = "answered"
    EARLY_ANSWER = "early_answer"  # answered before the mode allowed it (forced-interact): wrong by its rule
    BUDGET = "budget"
    PARSE_FAILURE = "parse_failure"
    TRUNCATED = "truncated"
    CONTEXT_OVERFLOW = "context_overflow"
    ENGINE_ERROR = "engine_error"
    BUG = "bug"  # this kit's own fault, kept with its traceback; outside every rate


class Outcome(StrEnum):
    """What a final answer amounts to when it is held against both golds (protocol, section 4)."""

    INTENDED = "intended"
    DEFAULT = "default"
    OTHER = "other"
    HEDGE = "hedge"
    REFUSAL = "refusal"
    QUESTION = "question"
    EMPTY = "empty"
    UNSCORED = "unscored"


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One reading of a question. A field that the reading does not fix is None."""

    entity: str | None = None
    period: str | None = None
    metric: str | None = None
    basis: str | None = None
    vintage: str | None = None

    def differs_from(self, other: Interpretation) -> tuple[str, ...]:
        """Names of the fields in which two readings differ, in the taxonomy's order."""
        return tuple(name for name in FIELDS if getattr(self, name) != getattr(other, name))


@dataclass(frozen=True, slots=True)
class Instance:
    """An ambiguous question with its default and its intended reading (protocol, section 1).

    Attributes:
        question: Q, names the company and asks for one value.
        context: C, the least set of constraints that leaves one reading; never holds the answer.
        answer, default_answer: A and A_d as written in the filing, for example "$46.75B" or "9.34亿元".
        categories: primary category first, then zero to two secondary ones.
        h0: prior entropy in bits, log2 of the number of plausible readings.
        orbit: the siblings that share question and passage, each reading intended once; None outside orbits.
        headline_intended: the reading that a headline gives is the intended one, so the default is another.
        extra: fields of the file that this kit does not use, kept as they were.
    """

    instance_id: str
    question: str
    context: str
    answer: str
    default_answer: str
    intended_interpretation: Interpretation
    default_interpretation: Interpretation
    categories: tuple[str, ...]
    h0: float
    language: str
    passage_id: str | None = None
    intended_evidence_span: str = ""
    default_evidence_span: str = ""
    company: str | None = None
    ticker: str | None = None
    source: str | None = None
    filing_type: str | None = None
    filing_date: str | None = None
    orbit: str | None = None
    headline_intended: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def primary(self) -> str:
        """The primary category."""
        return self.categories[0]

    @property
    def cluster(self) -> str:
        """Key under which instances of one company belong together in splits and in clustered statistics."""
        return self.ticker or self.company or self.instance_id


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of a filing as the search index holds it. `filed` and `period` are ISO dates or None."""

    passage_id: str
    text: str
    company: str | None = None
    ticker: str | None = None
    form: str | None = None
    filed: str | None = None
    period: str | None = None
    language: str = "en"
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One completion of the agent and what the environment made of it.

    Attributes:
        action: the action's name, or "invalid" when none could be read.
        content: the action's own fields (query, question, response, confidence, state).
        text: everything the agent wrote, reasoning left out; kept in full.
        reasoning: the text of its think block, if any.
        observation: what the environment replied; empty on the last turn.
        refused: why the environment refused the action, or None.
        seconds: wall time of the completion, its wait in the queue included.
        prompt_ids, output_ids: token ids; empty where the engine does not expose them.
    """

    action: str
    content: Mapping[str, Any]
    text: str = ""
    reasoning: str = ""
    observation: str = ""
    refused: str | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    prompt_ids: tuple[int, ...] = ()
    output_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One agent on one instance in one mode, complete. Within a run, model, mode, item and sample name it.

    Attributes:
        item: hash of the instance's record (`datasets.record_hash`); with `instance_id` it names the item.
        sample: which of the repeated draws, from 0.
        retrieval: what a search returned: index, own, own+spans or intended-span.
        parent, fork_turn: for a fork, the episode that it left and the turn it left at.
        started_at: UTC, ISO.
        opening: the messages that the agent was given before its first turn.
        answer: the committed response, None unless `ending` is answered or early_answer.
        confidence: stated confidence 0 to 100, None when none was stated.
        flags: marks such as "answer_unstructured" or "repaired".
        error: the engine's fault for `engine_error`, the traceback for `bug`.
    """

    instance_id: str
    model: str
    mode: str
    ending: Ending
    answer: str | None = None
    confidence: float | None = None
    turns: tuple[Turn, ...] = ()
    opening: tuple[Mapping[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    item: str = ""
    sample: int = 0
    retrieval: str = "index"
    parent: str | None = None
    fork_turn: int | None = None
    started_at: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asks(self) -> tuple[str, ...]:
        """The clarifying questions that reached the user, in order."""
        return tuple(t.content["question"] for t in self.turns if t.action == "interact" and t.refused is None)

    def count(self, action: str) -> int:
        """How many actions of this name the environment accepted."""
        return sum(t.action == action and t.refused is None for t in self.turns)


@dataclass(frozen=True, slots=True)
class Grade:
    """A grader's verdict on a final answer.

    Attributes:
        outcome: one of `Outcome`; `UNSCORED` when the grader could not decide, with the reason in `why`.
        value: the committed value as written in the answer, None when there is none.
        also: every gold that the answer names, the committed one included: of ("intended", "default"), in that order.
        flags: for example "scale_missing".
        confidence: 0 to 1 where the grader states one.
    """

    outcome: Outcome
    value: str | None = None
    also: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    why: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict on a clarifying question.

    Attributes:
        touched: every category that the question raises for a choice or a confirmation, in the taxonomy's order;
            None where the judge gave a central category only.
        named: every category whose matter the question names at all (protocol, section 9); None where the judge did
            not say.
        confidence: 0 to 1 where the judge states one.
        central: a category, "generic" (asks, names no category), "none" (outside the five) or "unscored".
    """

    touched: tuple[str, ...] | None
    central: str
    why: str = ""
    named: tuple[str, ...] | None = None
    confidence: float | None = None

    def targets(self, form: str) -> tuple[str, ...] | None:
        """The categories that the question targets in one form (`taxonomy.FORMS`); None where that is not known."""
        if self.central == "unscored":
            return None
        if form == "central":
            return (self.central,) if self.central in CATEGORIES else ()
        return self.named if form == "named" else self.touched


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """A verdict on a final answer as the store keeps it; None = unknown to the one who gave it."""

    given_by: str
    outcome: str | None
    is_intended: bool | None
    is_default: bool | None
    value: str | None = None
    also: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    why: str = ""
    confidence: float | None = None

    @classmethod
    def of(cls, given_by: str, grade: Grade) -> AnswerVerdict:
        """From a grader's verdict."""
        scored = grade.outcome != Outcome.UNSCORED
        return cls(
            given_by,
            str(grade.outcome),
            grade.outcome == Outcome.INTENDED if scored else None,
            grade.outcome == Outcome.DEFAULT if scored else None,
            grade.value,
            grade.also,
            grade.flags,
            grade.why,
            grade.confidence,
        )


@dataclass(frozen=True, slots=True)
class QuestionVerdict:
    """A verdict on the clarifying question of one turn."""

    given_by: str
    turn: int
    judgement: Judgement


Verdict = AnswerVerdict | QuestionVerdict


def giver_name(kind: str, model: str, digest: str) -> str:
    """What the verdicts of a model are filed under: `llm qwen2.5-32b@9f3c21d0`, kind, model and its weights' hash."""
    return f"{kind} {model}@{digest[:8]}"


def giver_setting(name: str) -> str:
    """The setting of `fiqkit grade` and `fiqkit judge` that names this giver again: `qwen2.5-32b`, `cascade:CARD`."""
    kind, _, model = name.partition(" ")
    card = model.rpartition("@")[0]
    return name if not card else card if kind == "llm" else f"{kind}:{card}"

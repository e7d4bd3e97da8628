"""The one input of every metric: an episode reduced to what a number can depend on."""

from __future__ import annotations

from dataclasses import dataclass

from fiqkit.records import Ending, Judgement

ENUMERATE = "enumerate"  # the mode that is graded by whether the golds are among the values it lists


@dataclass(frozen=True, slots=True)
class Scored:
    """One episode with a grader's and a judge's verdicts on it.

    Attributes:
        grader, judge: who gave the verdicts that this record carries.
        cluster: company key, under which episodes are dependent.
        outcome: one of `fiqkit.records.Outcome`; None where only the two booleans below are known, or nothing.
        is_intended, is_default: the answer equals A, or A_d; None when that is not known. In the mode `enumerate`
            they say whether the value is among those listed.
        confidence: stated confidence, 0 to 100, or None.
        item, sample: with `instance_id`, what was played: the hash of its record, and which of the repeated draws.
        episode: the episode's number in its store; 0 where there is none.
        n_asks: questions that reached the user, judged or not.
        questions: the judge's verdicts on them, in the order asked.
    """

    run: str
    model: str
    mode: str
    grader: str
    judge: str
    instance_id: str
    language: str
    categories: tuple[str, ...]
    h0: float
    cluster: str
    ending: Ending
    outcome: str | None
    is_intended: bool | None
    is_default: bool | None
    confidence: float | None = None
    n_asks: int = 0
    n_turns: int = 0
    n_searches: int = 0
    n_refused: int = 0
    questions: tuple[Judgement, ...] = ()
    flags: tuple[str, ...] = ()
    episode: int = 0
    item: str = ""
    sample: int = 0

    @property
    def record(self) -> tuple[str, str]:
        """The item: instance and the hash of its record. Equal ids of two data sets may be two items."""
        return self.instance_id, self.item

    @property
    def key(self) -> tuple[str, str, int]:
        """What two episodes must share to be a pair: instance, record and sample."""
        return self.instance_id, self.item, self.sample

    @property
    def primary(self) -> str:
        """The primary category."""
        return self.categories[0]

    @property
    def failed(self) -> bool:
        """The engine or the kit itself failed: the episode says nothing about the agent."""
        return self.ending in (Ending.ENGINE_ERROR, Ending.BUG)

    @property
    def counts(self) -> bool:
        """Whether the episode is in the denominators: neither an engine error nor unscored."""
        return not self.failed and self.is_intended is not None

    @property
    def asked(self) -> bool:
        """Whether at least one question reached the user."""
        return self.n_asks > 0

    @property
    def dise_plus(self) -> float:
        """DisE+: bits resolved a question, 0 when wrong; a right answer without a question counts as one question."""
        return self.h0 / max(self.n_asks, 1) if self.is_intended else 0.0

    def on_category(self, question: Judgement) -> bool:
        """Whether a question touches a true category of this instance."""
        return not set(question.touched).isdisjoint(self.categories)

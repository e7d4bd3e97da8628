"""What a simulator, a grader and a judge are, whoever plays them.

Each gives a verdict or says that it could not (`unscored`, with the reason); none has a default verdict. All methods
are coroutines because a model may stand behind any of them; the `rules` implementations never wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fiqkit.records import Grade, Instance, Interpretation, Judgement

YES, NO, UNKNOWN = "yes", "no", "i_dont_know"
REPLIES = (YES, NO, UNKNOWN)


@dataclass(frozen=True, slots=True)
class UserView:
    """What the simulated user knows: Q, C and the two readings. It has no answer, so it cannot give one away.

    Attributes:
        draw: tells repeated draws of one user apart; empty for the first.
    """

    question: str
    context: str
    intended: Interpretation
    default: Interpretation
    language: str
    draw: str = ""

    @classmethod
    def of(cls, instance: Instance, draw: str = "") -> UserView:
        """The view of an instance."""
        return cls(
            instance.question,
            instance.context,
            instance.intended_interpretation,
            instance.default_interpretation,
            instance.language,
            draw,
        )


@dataclass(frozen=True, slots=True)
class Gold:
    """One of the two values that an answer is graded against: as written, with its reading."""

    answer: str
    interpretation: Interpretation


class Simulator(Protocol):
    """The user: answers an agent's yes/no question from its view of what was meant."""

    @property
    def name(self) -> str:
        """What the store files its verdicts under: `rules`, or kind, model and weights (`records.giver_name`)."""
        ...

    async def reply(self, question: str, view: UserView) -> str:
        """One of `REPLIES` (a free-form simulator: a sentence).

        Raises:
            Exception: no reply could be had; the episode ends as engine_error, whatever the type.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        ...


class Grader(Protocol):
    """Decides what a final answer amounts to."""

    @property
    def name(self) -> str:
        """What the store files its verdicts under: `rules`, or kind, model and weights (`records.giver_name`)."""
        ...

    async def grade(self, question: str, intended: Gold, default: Gold, answer: str | None, language: str) -> Grade:
        """One outcome for one final answer; `Outcome.UNSCORED` with the reason when it cannot tell."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        ...


class Judge(Protocol):
    """Decides which ambiguity categories a clarifying question targets. It sees the question's text only."""

    @property
    def name(self) -> str:
        """What the store files its verdicts under: `rules`, or kind, model and weights (`records.giver_name`)."""
        ...

    async def classify(self, question: str) -> Judgement:
        """Named and touched categories and the central one; central "unscored" with the reason when it cannot tell."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What the run's manifest records."""
        ...

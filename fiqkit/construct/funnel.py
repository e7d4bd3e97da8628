"""The funnel of a construction: what each step passed, what it cost, and what N accepted instances would cost.

The paper's: 1,127 candidates, 11.5% viable, 98.5% of those accepted, $0.314 an accepted instance. A candidate costs the
pre-scan; one that passes it costs the constructor; a viable one costs the verifier besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import fsum
from typing import Any


@dataclass(frozen=True, slots=True)
class Rates:
    """What a funnel lets through and what its calls cost, in dollars or any other unit.

    Attributes:
        viable: share of candidates of which the constructor makes an instance.
        accepted: share of viable ones that pass rules and verifier.
        rejection: cost of a candidate that is no viable one; full: cost of one that goes all the way.
    """

    rejection: float
    full: float
    viable: float
    accepted: float

    def per_accepted(self) -> float:
        """Cost of one accepted instance: the candidates that it takes, most of them rejected early.

        Raises:
            ValueError: nothing is accepted.
        """
        if self.viable <= 0 or self.accepted <= 0:
            raise ValueError("a funnel that accepts nothing has no cost an instance")
        candidate = self.viable * self.full + (1 - self.viable) * self.rejection
        return candidate / (self.viable * self.accepted)

    def projected(self, target: int) -> float:
        """Cost of so many accepted instances."""
        return target * self.per_accepted()


@dataclass
class Spent:
    """What one model took in one role; dollars by its card's prices."""

    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


@dataclass
class Funnel:
    """Counts by step, in order, with why each turned what away, and time, tokens and dollars spent.

    Attributes:
        passed: step → orbits (the last: instances) that passed it.
        refused: step → reason → how many.
        spent: role and model → what it took, answers that an earlier, interrupted construction got included.
        arms: what verifying models were shown → siblings tried, and rejected.
    """

    passed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: float = 0.0
    spent: dict[str, Spent] = field(default_factory=dict)
    arms: dict[str, Counter[str]] = field(default_factory=dict)

    def refuse(self, step: str, why: str, count: int = 1) -> None:
        """Count what a step turned away."""
        self.refused.setdefault(step, Counter())[why] += count

    @property
    def accepted(self) -> int:
        """What came out."""
        return next(reversed(self.passed.values()), 0)

    @property
    def tokens(self) -> int:
        """Prompt and output tokens together."""
        return sum(spent.prompt_tokens + spent.output_tokens for spent in self.spent.values())

    @property
    def dollars(self) -> float:
        """What all models cost."""
        return fsum(spent.dollars for spent in self.spent.values())

    def row(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "passed": self.passed,
            "refused": {step: dict(sorted(why.items())) for step, why in self.refused.items()},
            "seconds": round(self.seconds, 1),
            "spent": {who: asdict(spent) for who, spent in sorted(self.spent.items())},
            "dollars": self.dollars,
            "arms": {shown: dict(sorted(count.items())) for shown, count in self.arms.items()},
        }

    def lines(self, target: int) -> Iterator[str]:
        """For people, with the projection to so many instances."""
        yield "funnel: " + " → ".join(f"{count:,} {step}" for step, count in self.passed.items())
        for step, why in self.refused.items():
            for reason, count in why.most_common(8):
                yield f"  {step}: {count:,} × {reason}"
        for shown, told in self.arms.items():
            yield f"  verifier shown {shown}: rejects {told['rejected']:,} of {told['tried']:,}"
        for who, spent in sorted(self.spent.items()):
            tokens = f"{spent.prompt_tokens:,} prompt and {spent.output_tokens:,} output tokens"
            yield f"  {who}: {spent.requests:,} answers, {tokens}, ${spent.dollars:.4f}"
        if self.accepted:
            each = [value / self.accepted for value in (self.seconds, self.tokens, self.dollars)]
            yield (
                f"{each[0]:.2f} s, {each[1]:,.0f} tokens and ${each[2]:.4f} an accepted instance; {target:,} would "
                f"take {each[0] * target:,.0f} s, {each[1] * target:,.0f} tokens and ${each[2] * target:,.2f}"
            )

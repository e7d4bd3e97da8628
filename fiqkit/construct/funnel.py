"""The funnel of a construction: what each step passed, what it cost, and what N accepted instances would cost.

The paper's: 1,127 candidates, 11.5% viable, 98.5% of those accepted, $0.314 an accepted instance. A candidate costs the
pre-scan; one that passes it costs the constructor; a viable one costs the verifier besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
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
class Funnel:
    """Counts by step, in order, with why each turned what away, and time and tokens spent.

    Attributes:
        passed: step → orbits (the last: instances) that passed it.
        refused: step → reason → how many.
    """

    passed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: float = 0.0
    prompt_tokens: int = 0
    output_tokens: int = 0

    def refuse(self, step: str, why: str, count: int = 1) -> None:
        """Count what a step turned away."""
        self.refused.setdefault(step, Counter())[why] += count

    @property
    def accepted(self) -> int:
        """What came out."""
        return next(reversed(self.passed.values()), 0)

    def row(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "passed": self.passed,
            "refused": {step: dict(sorted(why.items())) for step, why in self.refused.items()},
            "seconds": round(self.seconds, 1),
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
        }

    def lines(self, target: int) -> Iterator[str]:
        """For people, with the projection to so many instances."""
        yield "funnel: " + " → ".join(f"{count:,} {step}" for step, count in self.passed.items())
        for step, why in self.refused.items():
            for reason, count in why.most_common(8):
                yield f"  {step}: {count:,} × {reason}"
        if self.accepted:
            each = self.seconds / self.accepted
            tokens = (self.prompt_tokens + self.output_tokens) / self.accepted
            yield (
                f"{each:.2f} s and {tokens:,.0f} tokens an accepted instance; {target:,} would take "
                f"{each * target:,.0f} s and {tokens * target:,.0f} tokens"
            )

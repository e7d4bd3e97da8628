"""The one value that an answer commits to, or why it commits to none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fiqkit.records import Outcome
from fiqkit.roles.grader.claims import Claim, Part, read_claims
from fiqkit.roles.grader.wording import ALTERNATIVE, CHOICE, RANGE, READING, asks_user, measures, names_an_obstacle
from fiqkit.values import Value, same


@dataclass(frozen=True, slots=True)
class Commitment:
    """What an answer says.

    Attributes:
        outcome: None when it commits to `claim`; hedge, refusal, question or empty when it commits to nothing.
        claim: the value committed to, with its period.
        mentioned: every value in the answer that it does not deny.
        rule: the rule that decided, in a few words.
    """

    outcome: Outcome | None
    claim: Claim | None
    mentioned: tuple[Value, ...]
    rule: str


_ENOUGH = 12


def read_commitment(answer: str | None, fits: Callable[[Value], int], question: str) -> Commitment:
    """What an answer commits to.

    Args:
        fits: rank of a value as a reply to the question, 0 best; only the best rank that occurs is considered.
    """
    if not answer or not answer.strip():
        return Commitment(Outcome.EMPTY, None, (), "no text")
    claims = read_claims(answer)
    mentioned = tuple(c.value for c in claims if c.part not in (Part.DENIED, Part.OPERAND))
    candidates, rank = _candidates(claims, fits, question)
    if rank and names_an_obstacle(answer):
        candidates = []  # a value in another unit does not outweigh the statement that there is none
    outcome, claim, rule = _decide(candidates, answer)
    return Commitment(outcome, claim, mentioned, rule)


def _candidates(claims: list[Claim], fits: Callable[[Value], int], question: str) -> tuple[list[Claim], int]:
    """The claims that could be the reply, all of the best fit, and that fit: 0 = unit and measure as asked for."""
    ranked = [(fits(claim.value), claim) for claim in claims if claim.part not in (Part.ASKED, Part.OPERAND)]
    best = min((rank for rank, _ in ranked), default=0)
    chosen = [claim for rank, claim in ranked if rank == best]
    asked = measures(question)
    on_topic = [c for c in chosen if not measures(c.label) or measures(c.label) & asked]
    return on_topic or chosen, best if on_topic else best + 1


def _decide(claims: list[Claim], answer: str) -> tuple[Outcome | None, Claim | None, str]:
    main = _distinct([c for c in claims if c.part is Part.MAIN])
    if not main:
        main = _distinct([c for c in claims if c.part is Part.ASIDE])[:1]
    if not main:
        return _no_value(claims, answer)
    if len(main) == 1:
        return None, main[0], "only value"
    final = _distinct([c for c in main if c.final])
    if len(final) == 1:
        return None, final[0], "marked as the answer"
    if not ALTERNATIVE.search(main[0].label):
        main = [main[0], *(c for c in main[1:] if not ALTERNATIVE.search(c.label))]
    first, *others = main
    if others and RANGE.fullmatch(others[0].label):
        return Outcome.HEDGE, None, "a range"
    if others and CHOICE.fullmatch(others[0].label):
        return Outcome.HEDGE, None, "a choice left open"
    if not others:
        return None, first, "others only as alternatives"
    if any(_other_period(first, other) for other in others):
        return Outcome.HEDGE, None, "values of several periods"
    if not READING.search(first.label):
        return None, first, "first value, under the bare measure"
    return Outcome.HEDGE, None, "values under several readings"


def _distinct(claims: list[Claim]) -> list[Claim]:
    """The claims with different values, the first of each; a few, since more than one is told apart no further."""
    kept: list[Claim] = []
    for claim in claims:
        if len(kept) == _ENOUGH:
            break
        if not any(same(claim.value, other.value, 0.002) for other in kept):
            kept.append(claim)
    return kept


def _other_period(a: Claim, b: Claim) -> bool:
    return bool(a.period and b.period and a.period.conflicts(b.period))


def _no_value(claims: list[Claim], answer: str) -> tuple[Outcome, None, str]:
    if asks_user(answer):
        return Outcome.QUESTION, None, "asks the user"
    for part, rule in ((Part.VAGUE, "only a bound"), (Part.DENIED, "only a denial")):
        if any(c.part is part for c in claims):
            return Outcome.REFUSAL, None, rule
    return Outcome.REFUSAL, None, "no value"

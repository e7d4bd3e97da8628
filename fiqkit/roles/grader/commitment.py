"""The one value that an answer commits to, or why it commits to none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fiqkit.records import Outcome
from fiqkit.roles.grader.claims import Claim, Part, read_claims
from fiqkit.roles.grader.labels import (
    ALTERNATIVE,
    CHOICE,
    LEVEL,
    RANGE,
    READING,
    UNDECIDED,
    VERSUS,
    asks_for_change,
    is_qualified,
    is_unrelated,
    measures,
    overlap,
    states,
)
from fiqkit.roles.grader.wording import asks_user, names_an_obstacle
from fiqkit.values import Value, find, same


@dataclass(frozen=True, slots=True)
class Commitment:
    """What an answer says.

    Attributes:
        outcome: None when it commits to `claim`; hedge, refusal, question or empty when it commits to nothing.
        claim: the value committed to, with its period.
        mentioned: every value in the answer, rejected ones too.
        rule: the rule that decided, in a few words.
    """

    outcome: Outcome | None
    claim: Claim | None
    mentioned: tuple[Value, ...]
    rule: str


Verdict = tuple[Outcome | None, Claim | None, str]
_CONDITIONAL: Verdict = (Outcome.HEDGE, None, "values under conditions")
_ENOUGH = 12
_UNFIT = 3  # the rank of a value in another unit than the one asked for
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)  # cut short, it ends in no answer
_REPLIES = (Part.MAIN, Part.CHANGE, Part.ASIDE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the commitment is read for.

    Attributes:
        question: the user's.
        fits: rank of a value as a reply, 0 best, by its unit; None for what is no reply at all.
        golds: the names of the golds whose value a value is; which of them is intended must not matter here.
    """

    question: str
    fits: Callable[[Value], int | None]
    golds: Callable[[Value], frozenset[str]]


def read_commitment(answer: str | None, asked: Asked) -> Commitment:
    """What an answer commits to."""
    answer = _THOUGHT.sub("", answer or "")
    if not answer.strip():
        return Commitment(Outcome.EMPTY, None, (), "no text")
    claims = read_claims(answer)
    mentioned = tuple(claim.value for claim in claims if claim.part is not Part.REMARK)
    candidates, rank = _candidates(claims, asked)
    if rank and names_an_obstacle(answer):
        candidates = []  # a value in another unit does not outweigh the statement that there is none
    outcome, claim, rule = _decide(candidates, answer, asked) or _no_value(claims, answer)
    if claim and not claim.final and _stands_beside_a_rival(claim, claims, asked):
        outcome, claim, rule = Outcome.HEDGE, None, "both golds, side by side"
    return Commitment(outcome, claim, mentioned, rule)


def _candidates(claims: list[Claim], asked: Asked) -> tuple[list[Claim], int]:
    """The claims that could be the reply, and how ill the best of them fits: 0 = unit and measure as asked for."""
    ranked = _ranked(claims, asked)
    best = min((rank for rank, _ in ranked), default=0)
    concluded = any(claim.final >= 2 and rank < _UNFIT for rank, claim in ranked)
    limit = max(best, 1) if concluded else best  # a marked answer counts although it leaves its unit out
    fitting = [claim for rank, claim in ranked if rank == best or (rank <= limit and claim.final >= 2)]
    on_topic = _on_topic(fitting, asked)
    return on_topic or fitting, best if on_topic else best + 1


def _ranked(claims: list[Claim], asked: Asked) -> list[tuple[int, Claim]]:
    """The claims that are replies at all, each with how ill its unit fits; changes count where one is asked for."""
    by_change = asks_for_change(asked.question)
    changes = by_change and any(claim.part is Part.CHANGE for claim in claims)
    names = {value.text for value in find(asked.question)}  # "3M" in "3M's revenue" is the company
    ranked: list[tuple[int, Claim]] = []
    for claim in claims:
        rank = asked.fits(claim.value) if claim.part in _REPLIES and claim.value.text not in names else None
        if rank is None:
            continue
        part = claim.part
        if part is Part.CHANGE:
            part = Part.MAIN if by_change else Part.ASIDE
        elif changes and not claim.final and LEVEL.search(claim.before):
            part = Part.ASIDE
        ranked.append((rank, replace(claim, part=part)))
    if ranked:
        return ranked
    # A question for a number without a unit is answered by a bare one, however it is put.
    bare = (claim for claim in claims if claim.part is Part.TERM and asked.golds(claim.value))
    return [(0, replace(claim, part=Part.MAIN)) for claim in bare if asked.fits(claim.value) == 0]


def _on_topic(claims: list[Claim], asked: Asked) -> list[Claim]:
    """The claims that are not labelled as another quantity of the company."""
    wanted = measures(asked.question)
    if wanted:
        return [c for c in claims if not measures(c.label) or measures(c.label) & wanted or c.final >= 2]
    shared = [overlap(claim.before, asked.question) for claim in claims]
    most = max(shared, default=0)
    return [c for c, count in zip(claims, shared, strict=True) if most < 2 or asked.golds(c.value) or count == most]


def _decide(claims: list[Claim], answer: str, asked: Asked) -> Verdict | None:
    """The value that the candidates single out; None when there is no candidate."""
    main = _distinct(c for c in claims if c.part is Part.MAIN)
    if not main:
        return _aside(_distinct(claims), asked)
    if len(main) == 1:
        return None, main[0], "only value"
    strongest = max(claim.final for claim in claims if claim.part is Part.MAIN)
    if strongest:
        final = _distinct(c for c in claims if c.part is Part.MAIN and c.final == strongest)
        if len(final) == 1:
            return None, final[0], "marked as the answer"
        main = final
    return _first_of(main, answer, asked)


def _aside(claims: list[Claim], asked: Asked) -> Verdict | None:
    """A value that is only mentioned beside another figure is the answer where there is no other."""
    if not claims:
        return None
    if _is_pair(claims, asked):
        return Outcome.HEDGE, None, "both golds, neither singled out"
    return None, claims[0], "only value"


def _first_of(main: list[Claim], answer: str, asked: Asked) -> Verdict:
    """Whether the first of several values stands as the figure that was asked for."""
    first, *others = main
    if ALTERNATIVE.search(first.label):
        settled = [c for c in others if not ALTERNATIVE.search(c.label)]
        return (None, settled[0], "the only one without a condition") if len(settled) == 1 else _CONDITIONAL
    others = [c for c in others if not ALTERNATIVE.search(c.label)]
    if not others:
        return None, first, "others only as alternatives"
    if RANGE.fullmatch(others[0].before):
        return Outcome.HEDGE, None, "a range"
    if CHOICE.fullmatch(others[0].before):
        return Outcome.HEDGE, None, "a choice left open"
    if _is_pair(main, asked):
        return _first_of_pair(first, others, answer, asked)
    others = [c for c in others if asked.golds(c.value) or not is_unrelated(c.label, asked.question)]
    if any(_other_period(first, other) for other in others):
        return Outcome.HEDGE, None, "values of several periods"
    if READING.search(first.label) and any(READING.search(other.label) for other in others):
        return Outcome.HEDGE, None, "values under several readings"
    return None, first, "first value, under the bare measure"


def _first_of_pair(first: Claim, others: list[Claim], answer: str, asked: Asked) -> Verdict:
    """Of both golds the first stands only as the bare measure that was asked for, the other under a name of its own."""
    rivals = [c for c in others if asked.golds(c.value)]
    if UNDECIDED.search(answer):
        return Outcome.HEDGE, None, "says that the figure depends"
    if any(_other_period(first, other) for other in others):
        return Outcome.HEDGE, None, "values of several periods"
    bare = not is_qualified(first.label, asked.question)
    named = all(is_qualified(rival.label, asked.question) for rival in rivals)
    listed = not measures(first.label) and all(rival.line != first.line or _heads(first, rival) for rival in rivals)
    if bare and named and not listed:
        return None, first, "first value, under the bare measure"
    return Outcome.HEDGE, None, "values under several readings"


def _heads(first: Claim, rival: Claim) -> bool:
    """Whether each of two values stands behind a name and a colon of its own: "Acme: $5. Segment: $6"."""
    return all(re.search(r"\w\s*[:：]\s*$", claim.before) for claim in (first, rival))


def _stands_beside_a_rival(taken: Claim, claims: list[Claim], asked: Asked) -> bool:
    """Whether the other gold follows in a bare row of values: "Consolidated $46.75B vs. segment $62.87B"."""
    rivals = (c for c in claims if c.value.span[0] > taken.value.span[1] and VERSUS.fullmatch(c.before))
    return any(_is_pair([taken, rival], asked) and not states(taken.before) for rival in rivals)


def _is_pair(claims: list[Claim], asked: Asked) -> bool:
    """Whether both golds are among the values."""
    return len(frozenset().union(*(asked.golds(claim.value) for claim in claims))) > 1


def _distinct(claims: Iterator[Claim] | list[Claim]) -> list[Claim]:
    """The claims with different values, the first of each; a few, since more than one is told apart no further."""
    kept: list[Claim] = []
    for claim in claims:
        if len(kept) == _ENOUGH:
            break
        if not any(_restated(claim.value, other.value) for other in kept):
            kept.append(claim)
    return kept


def _restated(a: Value, b: Value) -> bool:
    """Whether two values are one, perhaps rounded: "$46,751 million, or $46.8 billion"."""
    if same(a, b, 0.002):
        return True
    coarser = max(a.step, b.step)
    digits = min(abs(a.number), abs(b.number)) / coarser if coarser else 0.0
    return digits >= 10 and same(a, b, 0.05) and abs(a.number - b.number) <= coarser / 2 * (1 + 1e-9)


def _other_period(a: Claim, b: Claim) -> bool:
    return bool(a.period and b.period and a.period.conflicts(b.period))


def _no_value(claims: list[Claim], answer: str) -> Verdict:
    if asks_user(answer):
        return Outcome.QUESTION, None, "asks the user"
    for part, rule in ((Part.VAGUE, "only a bound"), (Part.REJECTED, "only a denial")):
        if any(c.part is part for c in claims):
            return Outcome.REFUSAL, None, rule
    return Outcome.REFUSAL, None, "no value"

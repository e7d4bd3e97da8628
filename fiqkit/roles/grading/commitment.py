"""The one value that an answer commits to, or why it commits to none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fiqkit.records import Outcome
from fiqkit.roles.grading.claims import Claim, Part, read_claims
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


# A label with one of these names a reading of its own; without any it is the bare measure that was asked for.
_READING = re.compile(
    r"归属|归母|母公司|上市公司股东|扣非|扣除|少数股东|口径|分部|非经常|"
    r"\b(?:non-?)?gaap\b|adjusted|dilut|\bbasic\b|attributable|segment|consolidated|excluding|including|reported|organic|"
    r"constant[\s-]currency|comparable|continuing|\bcore\b|same[\s-]store",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"若|如果|如按|\bif\b|\balternatively\b|\bor\b|另", re.IGNORECASE)

_MEASURES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("revenue", r"\brevenues?\b|\b(?:net\s+)?sales\b|营业收入|营业总收入|营收|收入"),
        ("operating", r"\boperating\s+(?:income|profit|earnings|loss)|income\s+from\s+operations|\bebit\b|营业利润"),
        ("net", r"\bnet\s+(?:income|earnings|profit|loss)|净利润|净亏损|纯利"),
        ("gross", r"\bgross\s+(?:profit|margin)|毛利"),
        ("ebitda", r"\bebitda\b"),
        ("pretax", r"\b(?:pre-?tax|before\s+(?:income\s+)?tax)|利润总额"),
        ("eps", r"\beps\b|per\s+share|每股"),
        ("cash", r"\bcash\b|现金"),
        ("assets", r"\bassets\b|资产"),
    )
)

_ASKS = re.compile(
    r"[?？]|\b(?:please|kindly)\s+(?:specify|clarify|provide|confirm|indicate|let\s+me\s+know|tell|share|choose)|"
    r"\b(?:could|can|would)\s+you\s+(?:please\s+)?(?:specify|clarify|provide|confirm|tell)|\bif\s+you\s+(?:can\s+|could\s+)?specify|"
    r"\b(?:you\s+(?:would\s+)?need\s+to|you\s+must)\s+specify|\bI\s+need\s+to\s+know\b|\bspecify\s+(?:the|which|whether)|"
    r"请(?:您)?(?:先|再|进一步)?(?:明确|提供|确认|告知|说明|指定|选择|补充|告诉)|需要(?:知道)?您|如果您能提供|如果您能够?提供|建议提供|能否提供",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"(?:\bif\s+you\s+(?:need|have|would|want|require)|\blet\s+me\s+know\s+if|\bfeel\s+free|如果?您?(?:还|需|有|想)|若您?(?:需|有|要)|如需|若需)"
    r"[^。.!！\n]*[。.!！]?",
    re.IGNORECASE,
)


def read_commitment(answer: str | None, fits: Callable[[Value], int], question: str, language: str | None) -> Commitment:
    """What an answer commits to.

    Args:
        fits: rank of a value as a reply to the question, 0 best; only the best rank that occurs is considered.
    """
    if not answer or not answer.strip():
        return Commitment(Outcome.EMPTY, None, (), "no text")
    claims = read_claims(answer, language)
    mentioned = tuple(c.value for c in claims if c.part is not Part.DENIED)
    outcome, claim, rule = _decide(_candidates(claims, fits, question), answer)
    return Commitment(outcome, claim, mentioned, rule)


def _candidates(claims: list[Claim], fits: Callable[[Value], int], question: str) -> list[Claim]:
    ranked = [(fits(claim.value), claim) for claim in claims if claim.part in (Part.MAIN, Part.ASIDE, Part.VAGUE, Part.DENIED)]
    best = min((rank for rank, _ in ranked), default=0)
    chosen = [claim for rank, claim in ranked if rank == best]
    asked = _measures(question)
    on_topic = [c for c in chosen if not _measures(c.label) or _measures(c.label) & asked]
    return on_topic or chosen


def _measures(text: str) -> set[str]:
    return {name for name, pattern in _MEASURES if pattern.search(text)}


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
    first, *others = main
    if any(_other_period(first, other) for other in others):
        return Outcome.HEDGE, None, "values of several periods"
    if not _READING.search(first.label):
        return None, first, "first value, under the bare measure"
    return Outcome.HEDGE, None, "values under several readings"


def _distinct(claims: list[Claim]) -> list[Claim]:
    kept: list[Claim] = []
    for claim in claims:
        if not any(same(claim.value, other.value, 0.002) for other in kept):
            kept.append(claim)
    return kept


def _other_period(a: Claim, b: Claim) -> bool:
    return bool(a.period and b.period and a.period.conflicts(b.period))


def _no_value(claims: list[Claim], answer: str) -> tuple[Outcome, None, str]:
    if _ASKS.search(_COURTESY.sub("", answer)):
        return Outcome.QUESTION, None, "asks the user"
    for part, rule in ((Part.VAGUE, "only a bound"), (Part.DENIED, "only a denial")):
        if any(c.part is part for c in claims):
            return Outcome.REFUSAL, None, rule
    return Outcome.REFUSAL, None, "no value"

"""Which values of an answer are terms of a sum ("a − b = c") rather than what it says: the result is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fiqkit.values import Value

# Between two terms, and between the last one and the result; words may name the terms.
_OPERATOR = re.compile(
    r"\s[-−–+]\s?|\S\s?[-−–+×*/÷]\s?[(]?\s?[$¥€£\d]|[×÷+]|\s\*\s|\s/\s|[-−–]\s*\(?\s*$|"
    r"\b(?:minus|plus|less(?!\s+than)|times|multiplied\s+by|divided\s+by|subtract(?:ing|ed)?|add(?:ing|ed)?|deduct(?:ing|ed)?)\b|减去?|加上?|扣除|乘以?|除以",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\b(?:subtract(?:ing)?|add(?:ing)?|deduct(?:ing)?|divid(?:e|ing)|(?:the\s+)?(?:sum|difference)\s+(?:of|between))\b",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"=|\b(?:equals?|gives?|giving|yields?|yielding|leaves?|leaving|results?\s+in|comes?\s+to|for\s+a\s+total\s+of)\b|"
    r"等于|(?<![录取获所])得|即为|剩下",
    re.IGNORECASE,
)
_IS_RESULT = re.compile(r"\s*(?:is|was|为|是)\s*$", re.IGNORECASE)
_EQUALS = re.compile(r"=|\bequals\b|等于", re.IGNORECASE)  # these make a sum of a single term too
_LONGEST_GAP = 80


def terms_and_results(text: str, values: Sequence[Value], sentence_starts: Sequence[int]) -> tuple[set[int], set[int]]:
    """The indices of the values that are terms of a sum or formula, and of those that are what two or more come to.

    Args:
        values: every value of `text`, in order.
        sentence_starts: for each value, where its sentence begins.
    """
    found: set[int] = set()
    results: set[int] = set()
    chain: list[int] = []  # the terms of the sum under way
    for at, value in enumerate(values):
        low = values[at - 1].span[1] if at and sentence_starts[at] == sentence_starts[at - 1] else sentence_starts[at]
        gap = text[max(low, value.span[0] - _LONGEST_GAP) : value.span[0]]
        opened = at == 0 or sentence_starts[at] != sentence_starts[at - 1]
        if opened:
            chain = []
        ends = _RESULT.search(gap) or _IS_RESULT.fullmatch(gap) if len(chain) > 1 else chain and _EQUALS.search(gap)
        if ends:
            found.update(chain)
            if len(chain) > 1:
                results.add(at)
            chain = [at]
        elif chain and (_is_operator(text, low, value.span[0], gap) or _joins_terms(text, chain, values, gap)):
            chain.append(at)
        else:
            chain = [at]
    return found, results - found


def _is_operator(text: str, low: int, high: int, gap: str) -> bool:
    # With the characters beside the gap, so that "62,871-16,120" shows its digit and "a −b" its sign.
    return bool(_OPERATOR.search(text[low - 1 : low] + gap + text[high : high + 1]))


def _joins_terms(text: str, chain: list[int], values: Sequence[Value], gap: str) -> bool:
    """Whether "from" or "and" joins the two terms of "subtracting a from b", "the sum of a and b"."""
    start = values[chain[0]].span[0]
    before = text[max(0, start - _LONGEST_GAP) : start]
    return bool(re.fullmatch(r"\s*(?:from|and|to|by|,)\s*", gap, re.IGNORECASE) and _OPENING.search(before))

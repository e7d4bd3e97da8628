"""Drafts to instances and passages: the words, and the balance of what could otherwise be guessed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product

from fiqkit.construct.bundled.draft import PER_SHARE, PERCENT, Draft, Fact, Filing, Reading
from fiqkit.records import Instance, Passage

# The same wordings serve every category, so that a question's form says nothing about what is ambiguous in it.
QUESTIONS = {
    "en": (
        "What was {companys} {metric}?",
        "What did {company} report as its {metric}?",
        "Which figure does {company} give for {metric}?",
    ),
    "zh": ("{company}的{metric}是多少？", "请问{company}的{metric}是多少？", "{company}实现了多少{metric}？"),
}
CONTEXTS = {
    "en": ("I mean {constraint}.", "What I need is {constraint}.", "To be exact: {constraint}."),
    "zh": ("我要的是：{constraint}。", "请按这个来：{constraint}。", "指的是{constraint}。"),
}
_STATEMENTS = {
    "en": ("{caption}: {value}", "{caption} | {value}", "{caption} came to {value}."),
    "zh": ("{caption}：{value}", "{caption} | {value}", "{caption}为{value}。"),
}
_UNITS = {"en": "Amounts are in U.S. dollars.", "zh": "金额币种为人民币，单位{unit}。"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which reading of a draft is intended, and whether its value stands before the default's in the passage."""

    intended: int
    first: bool


def choices(drafts: Sequence[Draft], rng: random.Random) -> list[Choice]:
    """Choices that balance, within one group of drafts, what a shortcut could hold on to.

    Of the intended readings about half are the larger value, half the first of the draft's pair (the wider, the
    earlier, the reported one), and half stand first in the passage, with either size. Drafts that can be read one way
    only are settled first.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    chosen: dict[int, Choice] = {}
    for number in sorted(range(len(drafts)), key=lambda i: drafts[i].intended is None):
        draft = drafts[number]
        options = [draft.intended] if draft.intended is not None else list(draft.pair)
        ways = [Choice(intended, first) for intended, first in product(options, (True, False))]
        rng.shuffle(ways)
        best = min(ways, key=lambda way: sum(seen[mark] for mark in _marks(draft, way)))
        seen.update(_marks(draft, best))
        chosen[number] = best
    return [chosen[number] for number in range(len(drafts))]


def _marks(draft: Draft, way: Choice) -> Iterator[tuple[object, ...]]:
    larger = way.intended == draft.larger
    yield ("larger", larger)
    yield ("first", way.first)
    yield ("kind", way.intended == draft.pair[0])
    yield ("both", larger, way.first)


def render(draft: Draft, choice: Choice, number: int, instance_id: str) -> tuple[Instance, Passage]:
    """An instance and its passage; `number`, the draft's place in its group, picks the wordings."""
    filing = draft.filing
    language = filing.language
    default = next(i for i in draft.pair if i != choice.intended)
    write = _writer(filing, [reading.fact for reading in draft.readings])
    lines = _lines(draft, choice.intended, default, choice.first, random.Random(instance_id))
    statement = _STATEMENTS[language][(number + number // 3) % 3]
    spans = {fact: statement.format(caption=fact.caption, value=write.value(fact)) for fact in lines}
    passage = _passage(filing, write, statement, list(spans.values()))
    intended, other = draft.readings[choice.intended], draft.readings[default]
    wording = {"company": filing.company, "companys": possessive(filing.company), "metric": draft.metric}
    questions = QUESTIONS[language]
    contexts = CONTEXTS[language]
    instance = Instance(
        instance_id=instance_id,
        question=questions[number % 3].format(**wording),
        context=contexts[(number + 2 * (number // 3)) % 3].format(constraint=intended.constraint),
        answer=write.value(intended.fact),
        default_answer=write.value(other.fact),
        intended_interpretation=intended.interpretation,
        default_interpretation=other.interpretation,
        categories=draft.categories,
        h0=draft.h0,
        language=language,
        passage_id=passage.passage_id,
        intended_evidence_span=spans[intended.fact],
        default_evidence_span=spans[other.fact],
        company=filing.company,
        ticker=filing.ticker,
        source=filing.source,
        filing_type=filing.form,
        filing_date=filing.filed,
        extra={"company_code": filing.code, "readings": [_reading_row(reading, write) for reading in draft.readings]},
    )
    return instance, passage


def distractor(filing: Filing, facts: Sequence[Fact], number: int) -> Passage:
    """A passage that no question is asked of, written as the others are."""
    write = _writer(filing, facts)
    statements = _STATEMENTS[filing.language]
    statement = statements[number % len(statements)]
    lines = [statement.format(caption=fact.caption, value=write.value(fact)) for fact in facts]
    return _passage(filing, write, statement, lines)


def possessive(name: str) -> str:
    """ "Visa's", "Cisco Systems'", and "Lowe's" as it is."""
    return name if name.endswith("'s") else name + ("'" if name.endswith("s") else "'s")


def _lines(draft: Draft, intended: int, default: int, first: bool, rng: random.Random) -> list[Fact]:
    facts = [*(reading.fact for reading in draft.readings), *draft.facts]
    rng.shuffle(facts)
    at, other = (facts.index(draft.readings[i].fact) for i in (intended, default))
    if (at < other) != first:
        facts[at], facts[other] = facts[other], facts[at]
    return facts


def _passage(filing: Filing, write: _Writer, statement: str, lines: Sequence[str]) -> Passage:
    zh = filing.language == "zh"
    head = f"{filing.title}{'。' if zh else '. '}{_UNITS[filing.language].format(unit=write.unit)}"
    prose = statement.endswith((".", "。"))
    joint = ("" if zh else " ") if prose else "\n"
    return Passage(
        passage_id=f"{filing.code}-{filing.period or 'release'}",
        text=f"{head}\n{joint.join(lines)}",
        company=filing.company,
        ticker=filing.ticker,
        form=filing.form,
        filed=filing.filed,
        period=filing.period,
        language=filing.language,
        source=filing.source,
    )


def _reading_row(reading: Reading, write: _Writer) -> dict[str, object]:
    fields = {name: text for name, text in asdict(reading.interpretation).items() if text}
    return {"interpretation": fields, "value": write.value(reading.fact)}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes values; `unit` is the Chinese unit of a whole passage, dollars are in millions throughout."""

    unit: str

    def value(self, fact: Fact) -> str:
        if fact.unit == PERCENT:
            return f"{fact.amount}%"
        if fact.unit == PER_SHARE:
            return f"${fact.amount:.2f}"
        if self.unit:
            return f"{fact.amount / _CHINESE[self.unit]:,.2f}{self.unit}"
        millions = f"{abs(fact.amount) / 1e6:,.3f}".rstrip("0").rstrip(".")
        return f"$({millions}) million" if fact.amount < 0 else f"${millions} million"


_CHINESE = {"亿元": 1e8, "万元": 1e4}


def _writer(filing: Filing, facts: Sequence[Fact]) -> _Writer:
    """In Chinese, 亿元 for half of the companies whose values all have three digits left in it, else 万元.

    Large companies would otherwise be told from small ones by the unit, and with them their category.
    """
    if filing.language == "en":
        return _Writer("")
    large = min(abs(fact.amount) for fact in facts) >= 1e8
    return _Writer("亿元" if large and int(filing.code) % 2 else "万元")

"""The words of questions, constraints and passages; every category shares them, so that a form says nothing.

A wording is picked by the orbit's key and the seed: siblings share their question to the letter.
"""

from __future__ import annotations

import random

from fiqkit.construct.orbits import Alternative, Orbit, Quantity
from fiqkit.construct.topics import MONEY, PER_SHARE, topics

QUESTIONS = {  # none in English says that a report prints the figure, which may be computed
    "en": (
        "What {was} {companys} {metric}?",
        "What did {company} have as its {metric}?",
        "Which figure did {company} have for {metric}?",
        "What {was} the {metric} of {company}?",
        "What {metric} did {company} have?",
    ),
    "zh": (
        "{company}的{metric}是多少？",
        "请问{company}的{metric}是多少？",
        "{company}披露的{metric}是多少？",
        "帮我查一下{company}的{metric}是多少？",
        "我想知道{company}的{metric}是多少。",
    ),
}
CONTEXTS = {
    "en": (
        "I mean {constraint}.",
        "I need {constraint}.",
        "To be exact: {constraint}.",
        "I want {constraint}.",
    ),
    "zh": ("我说的是{constraint}。", "我要的是{constraint}。", "我想看的是{constraint}。", "我需要的是{constraint}。"),
}
_DISCLOSED = "披露"  # a Chinese form that says so is for figures that a report prints
_HEAD = {
    "en": "{company}{ticker}{form}, {period}{filed}.\nFigures from the company's reports. Amounts in U.S. dollars, "
    "per-share figures in dollars a share.\nLine | Amount",
    "zh": "{company}{ticker}{form}，{period}{filed}。\n主要数据。货币：人民币，金额单位：{unit}。\n项目 | 金额",
}


def draw(orbit: Orbit, seed: int, what: str) -> random.Random:
    """The draw of one choice of one orbit."""
    return random.Random(f"{seed} {orbit.key} {what}")


def question(orbit: Orbit, seed: int) -> str:
    """The question that all siblings share."""
    if orbit.question:
        return orbit.question
    language, company = orbit.source.language, orbit.source.company
    rng = draw(orbit, seed, "question")
    metric = rng.choice(topics()[orbit.topic].words[language])
    computed = any(a.row.quantity.proof.operation != "value" for a in orbit.alternatives)
    forms = [form for form in QUESTIONS[language] if not (computed and _DISCLOSED in form)]
    return rng.choice(forms).format(
        company=company,
        companys=possessive(company),
        metric=metric,
        was="were" if metric.endswith("s") else "was",
    )


def constraint(orbit: Orbit, place: int, seed: int) -> str:
    """C of the sibling that intends the alternative at `place`."""
    wording = draw(orbit, seed, f"context {place}").choice(CONTEXTS[orbit.source.language])
    return wording.format(constraint=orbit.alternatives[place].constraint)


def possessive(name: str) -> str:
    """ "Visa's", "Cisco Systems'", and "Lowe's" as it is."""
    return name if name.endswith(("'s", "’s")) else name + ("'" if name.endswith("s") else "'s")


def head(
    *,
    language: str,
    company: str,
    ticker: str | None,
    form: str | None,
    period: str,
    filed: str | None,
    unit: str,
) -> str:
    """The first lines of a passage: whose figures, of which filing and period, in which unit."""
    if language == "zh":
        date = f"，披露日期{filed}" if filed else ""
        period += "" if form or period.endswith("数据") else "数据"
        return _HEAD["zh"].format(
            company=company,
            ticker=f"（{ticker}）" if ticker else "",
            form=form or "",
            period=period,
            filed=date,
            unit=unit,
        )
    two = " and " in (form or "")  # both versions of a figure
    return _HEAD["en"].format(
        company=company,
        ticker=f" ({ticker})" if ticker else "",
        form=f", Form{'s' if two else ''} {form}" if form else "",
        period=period,
        filed=f", {'the later ' if two else ''}filed {_spoken(filed)}" if filed else "",
    )


def _spoken(iso: str) -> str:
    from fiqkit.construct.miners.setting import spoken

    return spoken(iso)


# --- values ---------------------------------------------------------------------------------------------------------

_CHINESE = {"亿元": 1e8, "万元": 1e4, "元": 1.0}


def value(quantity: Quantity, language: str, unit: str = "") -> str:
    """A quantity as a passage prints it: "$46,751 million", "$(12.5) million", "$1.28", "11.97%", "12.37亿元"."""
    if quantity.kind == PER_SHARE:
        amount = f"{abs(quantity.value):,.2f}"
        amount = f"({amount})" if quantity.value < 0 else amount
        return f"{amount}元" if language == "zh" else f"${amount}"
    if quantity.kind != MONEY:
        return f"{quantity.value:.2f}%"
    if language == "zh":
        digits = 4 if unit == "亿元" and abs(quantity.value) < 1e9 else 2
        return f"{quantity.value / _CHINESE[unit]:,.{digits}f}{unit}"
    return _dollars(quantity.value)


def _dollars(amount: float) -> str:
    size = abs(amount)
    if size == int(size) and size % 1000 and size < 1e12:  # to the dollar: millions would round it
        text = f"{size:,.0f}"
        return f"$({text})" if amount < 0 else f"${text}"
    millions = f"{size / 1e6:,.3f}".rstrip("0").rstrip(".")
    return f"$({millions}) million" if amount < 0 else f"${millions} million"


def unit_of(amounts: list[float], code: str) -> str:
    """The Chinese unit of a passage: 亿元 for half of the companies whose amounts all reach a tenth of it, else 万元.

    Large companies would otherwise be told from small ones by the unit.
    """
    smallest = min((abs(amount) for amount in amounts), default=0)
    if smallest >= 1e7 and int(code) % 2:
        return "亿元"
    return "万元" if smallest >= 1e5 else "元"


def alternative_text(alternative: Alternative, language: str, unit: str) -> str:
    """The value of a reading, as written in passage and instance."""
    return value(alternative.row.quantity, language, unit)

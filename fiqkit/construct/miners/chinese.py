"""Chinese statements: which of the figures that go by one name is meant.

净利润 is what the group earned (净利润, minority included), what of it belongs to the parent's shareholders
(归母净利润), and what of that recurs (扣非净利润). Press and analysts quote each, as a level, as 净利率 and as
净利润增长率. The parent's share leads, but in 净利率, which terminals give of the group. 净资产 has the first two.
Group beside parent is an orbit of entity scope, what recurs one of metric definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from fiqkit.construct.holdings import Figure
from fiqkit.construct.miners.setting import FASTEST, PARENT, Setting, derived, orbit, reading, year_before
from fiqkit.construct.orbits import Orbit, Quantity
from fiqkit.construct.topics import topics
from fiqkit.roles.grader.rules import TOLERANCE

REVENUE = ("营业总收入", "总营收", "revenue", "营业收入")
PARENT_PROFIT = ("归母净利润", "net_profit_parent", "归属于母公司所有者的净利润")
_GROUP_PROFIT = ("净利润", "net_profit_incl_minority")
_CORE_PROFIT = ("扣非净利润", "net_profit_parent_excl_nonrecurring", "扣除非经常性损益后的净利润")
_MINORITY = ("少数股东损益", "minority_interest_profit")


class Basis(NamedTuple):
    """One figure among those that go by one name.

    Attributes:
        names: the concepts that sources file it under.
        caption: what stands in brackets behind the name.
        entity, metric: fields of its interpretation; `{}` in `metric` is the name that is asked for.
        said: the figure as a user calls it.
        without: what a user adds.
    """

    names: tuple[str, ...]
    caption: str
    entity: str
    metric: str
    said: str
    without: str = ""


_GROUP = "合并口径，含{}"
OWNER = (  # the parent's share, and the group's
    Basis(PARENT_PROFIT, "归属于母公司股东", PARENT["zh"], "{}", "归属于母公司股东的净利润", "，不含少数股东损益"),
    Basis(_GROUP_PROFIT, "含少数股东损益", _GROUP.format("少数股东损益"), "{}", "含少数股东损益的净利润"),
)
RECURRING = (  # both the parent's share; captions say so alike, so that neither is what the other is not
    Basis(
        PARENT_PROFIT,
        "归属于母公司股东，扣除非经常性损益前",
        PARENT["zh"],
        "{}，未扣除非经常性损益",
        "归属于母公司股东的净利润",
        "，不扣除非经常性损益",
    ),
    Basis(
        _CORE_PROFIT,
        "归属于母公司股东，扣除非经常性损益后",
        PARENT["zh"],
        "扣非{}",
        "归属于母公司股东、扣除非经常性损益后的净利润（扣非净利润）",
    ),
)
_EQUITY = (
    Basis(
        ("归属于母公司所有者权益合计", "归属于母公司股东权益合计", "归母净资产"),
        "归属于母公司股东",
        PARENT["zh"],
        "{}",
        "归属于母公司股东的净资产",
        "，不含少数股东权益",
    ),
    Basis(
        ("所有者权益（或股东权益）合计", "所有者权益合计", "股东权益合计"),
        "含少数股东权益",
        _GROUP.format("少数股东权益"),
        "{}",
        "含少数股东权益的净资产",
    ),
)


def profits(setting: Setting, pair: tuple[Basis, ...], category: str, subtype: str) -> Iterator[Orbit | None]:
    """Both profits of a pair, their share of revenue, and their growth on the year before."""
    if pair is RECURRING and shows_the_group(setting):
        return
    revenue, earlier = first_of(setting, REVENUE), replace(setting, flow=year_before(setting.flow), instant=None)
    now = [_stated(setting, basis) for basis in pair]
    both = [_stated(setting, basis, earlier) for basis in pair]
    levels = [_derived("value", stated) for stated in now]
    yield _orbit(setting, pair, f"{category}/{subtype}", "profit", levels)
    margins = [_derived("ratio", stated, revenue) if revenue else None for stated in now]
    if all(margin and margin.value < 100 for margin in margins):
        turn = -1 if pair is OWNER else 1
        yield _orbit(setting, pair[::turn], f"{category}/{subtype} margin", "net margin", margins[::turn])
    if not first_of(earlier, REVENUE):
        return  # a table whose years contradict each other on sales holds two versions: its growth is nobody's
    rates = [_derived("growth", stated) for stated in both]
    if all(rate and abs(rate.value) <= FASTEST for rate in rates):
        yield _orbit(setting, pair, f"{category}/{subtype} growth", "profit growth rate", rates)


def _stated(setting: Setting, basis: Basis, *others: Setting) -> tuple[Figure, ...] | None:
    """The figure of a basis at one setting after another; none of them may be missing or a loss.

    Of 归母净利润, where a source leaves it out, 净利润 and 少数股东损益 at each instead: their difference is it.
    """
    settings = (setting, *others)
    figures = [first_of(at, basis.names) for at in settings]
    if basis.names == PARENT_PROFIT and None in figures:
        pairs = [(first_of(at, _GROUP_PROFIT), first_of(at, _MINORITY)) for at in settings]
        if any(not group or not minority or group.value <= minority.value for group, minority in pairs):
            return None
        figures = [figure for stated in pairs for figure in stated]
    elif any(not figure or figure.value <= 0 for figure in figures):
        return None
    return tuple(figure for figure in figures if figure)


def _derived(operation: str, stated: tuple[Figure, ...] | None, *others: Figure) -> Quantity | None:
    """An operation on what `_stated` gives, that is one figure a setting or the two of a difference."""
    if stated is None:
        return None
    of_differences = len(stated) == {"value": 2, "ratio": 2, "growth": 4}[operation]
    names = {"value": "difference", "ratio": "difference ratio", "growth": "difference growth"}
    return derived(names[operation] if of_differences else operation, *stated, *others)


def equity(setting: Setting, category: str) -> Orbit | None:
    """净资产 with or without the minority's share."""
    quantities = [_derived("value", _stated(setting, basis)) for basis in _EQUITY]
    return _orbit(setting, _EQUITY, f"{category}/minority", "equity", quantities)


def shows_the_group(setting: Setting) -> bool:
    """Whether the lines around a question give the group's profit away, a reading apart from the parent's share.

    That is 利润总额 − 所得税费用, and 归母净利润 + 少数股东损益; apart is what a grader tells apart.
    """
    parent, minority = first_of(setting, PARENT_PROFIT), first_of(setting, _MINORITY)
    pretax, tax = setting.figure("利润总额"), setting.figure("所得税费用")
    if not parent:
        return False
    shown = [pretax.value - tax.value] if pretax and tax else []
    shown += [parent.value + minority.value] if minority else []
    return any(abs(value - parent.value) > TOLERANCE * abs(parent.value) for value in shown)


def first_of(setting: Setting, names: tuple[str, ...]) -> Figure | None:
    """The figure that a setting has under the first of several names."""
    return next((figure for name in names if (figure := setting.figure(name))), None)


_SAID = {"profit": "{}", "equity": "{}", "net margin": "按{}计算的净利率", "profit growth rate": "{}的同比增长率"}
_CAPTIONS = {"profit": "净利润", "equity": "净资产", "net margin": "净利率", "profit growth rate": "净利润同比增长率"}


def _orbit(
    setting: Setting, pair: tuple[Basis, ...], miner: str, topic: str, quantities: Sequence[Quantity | None]
) -> Orbit | None:
    """An orbit of both readings; tables call the parent's share 净利润 too: both must be there."""
    name = topics()[topic].words["zh"][0]
    name += "，净利润÷营业总收入" if topic == "net margin" and OWNER[0] in pair else ""
    alternatives = []
    for basis, quantity in zip(pair, quantities, strict=True):
        if not quantity:
            return None
        computed = "" if quantity.proof.operation == "value" else "，计算值"
        caption = f"{_CAPTIONS[topic]}（{basis.caption}{computed}）"
        constraint = _SAID[topic].format(basis.said) + basis.without
        fields = {"entity": basis.entity, "metric": basis.metric.format(name)}
        alternatives.append(reading(setting, caption, quantity, topic, constraint, **fields))
    return orbit(miner, topic, setting, alternatives)

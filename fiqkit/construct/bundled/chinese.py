"""Drafts and distractors from A-share annual facts (yuan, as reported)."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fiqkit.construct.bundled.draft import Draft, Fact, Filing, Reading, apart
from fiqkit.datasets import read_jsonl
from fiqkit.records import Interpretation

_REVENUE = "营业总收入"
_TOTAL = "净利润（含少数股东损益）"
_PARENT = "归属于母公司股东的净利润"
_CORE = "归属于母公司股东的扣除非经常性损益的净利润"
_MINORITY = "少数股东损益"

_LARGEST_GAP = 0.6
_MINIMUM = 1e8  # yuan


def profit_drafts(facts: Path, candidates: Path, rng: random.Random) -> tuple[list[Draft], list[Draft]]:
    """Drafts that ask for 净利润: by entity (with or without minority interests), and by metric (扣非 or not).

    12 of each, one a company; no company is in both.
    """
    rows = [*_ashare(facts), *_finglm(candidates)]
    rng.shuffle(rows)
    metric = list(_one_a_company(rows, {_PARENT, _CORE}, rng, set()))
    used = {draft.filing.code for draft in metric}
    entity = list(_one_a_company(rows, {_TOTAL, _PARENT}, rng, used))
    return entity, metric


def _one_a_company(
    rows: Iterable[tuple[Filing, dict[str, float]]], asked: set[str], rng: random.Random, used: set[str]
) -> Iterator[Draft]:
    """12 companies: in 4 the usual order of the two values is turned round."""
    left = {False: 8, True: 4}
    seen = set(used)
    for filing, values in rows:
        if filing.code in seen or not asked <= values.keys():
            continue
        wide, narrow = (values[name] for name in (_TOTAL, _PARENT, _CORE) if name in asked)
        turned = narrow > wide
        if left[turned] and min(wide, narrow) >= _MINIMUM and apart(wide, narrow) and _near(wide, narrow):
            left[turned] -= 1
            seen.add(filing.code)
            yield _profit_draft(filing, values, asked)


def _near(a: float, b: float) -> bool:
    return abs(a - b) < _LARGEST_GAP * max(a, b)


def _profit_draft(filing: Filing, values: dict[str, float], asked: set[str]) -> Draft:
    year = f"{(filing.period or '')[:4]}年度"
    known = {
        _TOTAL: ("合并口径，含少数股东损益", "净利润（未扣除非经常性损益）", "把少数股东应占的部分也算在内"),
        _PARENT: ("归属于母公司股东", "净利润（未扣除非经常性损益）", ""),
        _CORE: ("归属于母公司股东", "扣除非经常性损益的净利润（扣非）", "扣除非经常性损益之后的口径"),
    }
    # a third reading counts only where it is apart from the two that are asked about
    names = [n for n in known if n in asked or all(n in values and apart(values[n], values[m]) for m in asked)]
    # the middle reading needs telling from whichever of the others stand beside it, and from no more
    parent = {_TOTAL: "只算归属于母公司股东的部分", _CORE: "非经常性损益不作扣除"}
    middle = "，".join(text for name, text in parent.items() if name in names)
    readings = tuple(
        Reading(
            Interpretation(entity, year, metric, "中国企业会计准则"), Fact(name, values[name]), constraint or middle
        )
        for name, (entity, metric, constraint) in known.items()
        if name in names
    )
    first, second = (names.index(name) for name in (_TOTAL, _PARENT, _CORE) if name in asked)
    facts = [Fact(name, values[name]) for name in (_REVENUE, f"上年{_REVENUE}") if name in values]
    if _TOTAL in names and _MINORITY in values:
        facts.append(Fact(_MINORITY, values[_MINORITY]))
    return Draft(filing, "净利润", readings, (first, second), facts=tuple(facts))


def vintage_drafts(candidates: Path) -> list[Draft]:
    """Drafts that ask for 净利润 of a year that a later annual report presents again, before and after adjustment."""
    reports: dict[tuple[str, str, str], dict[str, Any]] = {}
    for _, row in read_jsonl(candidates / "filing_vintage_cn_adjusted_annual_reports.jsonl"):
        if row["code"].isdigit():
            key = (row["code"], row["disclosed_in"], row["year"])
            reports.setdefault(key, {"company": row["company"]})[row["metric"]] = (row["调整前"], row["调整后"])
    drafts: dict[str, Draft] = {}
    for (code, report, year), found in reports.items():
        profit = found.get("归母净利润")
        if profit and code not in drafts and apart(*profit):
            drafts[code] = _vintage_draft(code, report, year, found)
    return list(drafts.values())


def _vintage_draft(code: str, report: str, year: str, found: dict[str, Any]) -> Draft:
    filing = Filing(
        code,
        code,
        found["company"],
        "年报",
        f"{year}-12-31",
        f"{found['company']}{report}列示的{year}年度可比数据",
        "zh",
        "cninfo",
    )
    versions = (
        ("调整前（原披露）", "首次披露", "首次披露时的数"),
        ("调整后（追溯调整）", "追溯调整后", "追溯调整后的数"),
    )
    readings = tuple(
        Reading(
            Interpretation("归属于母公司股东", f"{year}年度", "净利润", "中国企业会计准则", vintage),
            Fact(f"{_PARENT}，{label}", found["归母净利润"][i]),
            constraint,
        )
        for i, (label, vintage, constraint) in enumerate(versions)
    )
    names = {
        "营业收入": "营业收入",
        "归母净资产": "归属于母公司股东的净资产",
        "经营活动现金流净额": "经营活动产生的现金流量净额",
    }
    facts = tuple(
        Fact(f"{caption}，{versions[i][0]}", found[name][i])
        for name, caption in names.items()
        if name in found
        for i in (0, 1)
    )
    return Draft(filing, "净利润", readings, facts=facts)


def distractors(candidates: Path, used: set[str], count: int, rng: random.Random) -> list[tuple[Filing, list[Fact]]]:
    """Other companies' annual and half-year facts, one company a passage."""
    rows = [*_finglm(candidates), *_half_years(candidates)]
    rng.shuffle(rows)
    found: dict[str, tuple[Filing, list[Fact]]] = {}
    for filing, values in rows:
        if len(found) < count and filing.code not in used and len(values) > 3:
            facts = [Fact(name, amount) for name, amount in values.items()]
            rng.shuffle(facts)
            found.setdefault(filing.code, (filing, facts))
    return list(found.values())


# --- the files ------------------------------------------------------------------------------------------------------

_ASHARE = {
    "revenue": _REVENUE,
    "prior_year_revenue": f"上年{_REVENUE}",
    "net_profit_incl_minority": _TOTAL,
    "net_profit_parent": _PARENT,
    "minority_interest_profit": _MINORITY,
    "net_profit_parent_excl_nonrecurring": _CORE,
}
# 净利润_推算 and 少数股东损益_推算 are derived, not reported, and stay out
_HALF_YEAR = {"总营收": _REVENUE, "归母净利润": _PARENT, "扣非净利润": _CORE, "利润总额": "利润总额"}
_FINGLM = {"营业总收入": _REVENUE, "净利润": _TOTAL, "归母净利润": _PARENT, "少数股东损益": _MINORITY}


def _ashare(path: Path) -> Iterator[tuple[Filing, dict[str, float]]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            values = {name: float(row[column]) for column, name in _ASHARE.items() if row[column]}
            if _consistent(values):
                yield _annual(row["ticker"], row["company"], row["period_end"][:4]), values


def _finglm(candidates: Path) -> Iterator[tuple[Filing, dict[str, float]]]:
    for _, row in read_jsonl(candidates / "entity_metric_cn_finglm_2019_2021.jsonl"):
        values = {name: row[column] for column, name in _FINGLM.items() if row[column]}
        # a derived figure was never reported; a renamed or delisted company would confuse more than it tests
        if row["归母_source"] == "reported" and "ST" not in row["company"] and _consistent(values):
            yield _annual(row["code"], row["company"], str(row["year"])), values


def _half_years(candidates: Path) -> Iterator[tuple[Filing, dict[str, float]]]:
    for _, row in read_jsonl(candidates / "metric_definition_cn_eastmoney_2018H1.jsonl"):
        values = {name: row[column] for column, name in _HALF_YEAR.items() if row[column]}
        if "ST" not in row["company"] and _consistent(values):
            code, company = row["code"].zfill(6), row["company"]
            title = f"{company}2018年半年度报告"
            yield Filing(code, code, company, "半年报", "2018-06-30", title, "zh", "eastmoney"), values


def _consistent(values: dict[str, float]) -> bool:
    """Values are there (−1 stands for missing in such exports) and the parts add up to the whole."""
    if any(abs(value) <= 1 for value in values.values()) or _PARENT not in values:
        return False
    if not {_TOTAL, _MINORITY} <= values.keys():
        return _TOTAL not in values
    return abs(values[_TOTAL] - values[_MINORITY] - values[_PARENT]) < 1e4


def _annual(code: str, company: str, year: str) -> Filing:
    code = code.zfill(6)
    title = f"{company}{year}年年度报告合并财务报表"
    return Filing(code, code, company, "年报", f"{year}-12-31", title, "zh", "cninfo")

"""Wordings of many hands: what models say around the value, one row each, and what each wording commits to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fiqkit.records import Interpretation
from fiqkit.roles.grader.rules import grade_answer
from fiqkit.roles.interfaces import Gold

# question; intended answer and its period; default answer and its period
CASES = {
    "income": (
        "What was Acme Corp's operating income?",
        ("$46.75B", "Year ended December 31, 2023"),
        ("$62.87B", "Year ended December 31, 2023"),
    ),
    "profit": ("甲公司的净利润是多少？", ("68.41亿元", "2024年度"), ("85.68亿元", "2024年度")),
    "loss": ("甲公司的净利润是多少？", ("-5.76亿元", "2022年度"), ("-15.52亿元", "2022年度")),
    "growth": (
        "What was Acme Corp's net income growth rate?",
        ("-42.3%", "2023 vs 2022 (annual)"),
        ("17.1%", "2023 vs 2022 (annual)"),
    ),
    "decline": (
        "What was Acme Corp's earnings decline rate?",
        ("-42.3%", "2023 vs 2022 (annual)"),
        ("17.1%", "2023 vs 2022 (annual)"),
    ),
    "retail": (
        "What were Acme Stores' net sales?",
        ("$30.60B", "fiscal year ended February 3, 2024"),
        ("$28.33B", "fiscal year ended January 28, 2023"),
    ),
    "undated": ("甲公司的净利润是多少？", ("68.41亿元", "报告期"), ("85.68亿元", "报告期")),
    "par": ("What was Acme Corp's par value per share (in dollars)?", ("1", None), ("5", None)),
    "vint": ("What was Acme's revenue?", ("$3,452.1 million", "fiscal 2019"), ("$3,390.0 million", "fiscal 2019")),
    "eps": ("What were Acme's earnings per share?", ("$2.31", "2023"), ("$2.35", "2023")),
    "margin": ("What was Acme's gross margin?", ("44.1%", "fiscal 2023"), ("45.6%", "fiscal 2023")),
    "shares": ("How many shares?", ("46.2 million shares", "2023"), ("48.0 million shares", "2023")),
    "turnover": (
        "What is the FY2019 fixed asset turnover ratio for Activision Blizzard?",
        ("24.26", "FY2019"),
        ("25.65", "FY2019"),
    ),
    "capex": (
        "What is the FY2018 capital expenditure amount (in USD millions) for 3M?",
        ("$1577.00", "FY2018"),
        ("$1,373.00", "FY2018"),
    ),
    "taxrate": ("What was Boeing's effective tax rate?", ("14.76%", "FY2021"), ("0.62%", "FY2021")),
    "ebitda margin": ("What is Amcor's EBITDA margin?", ("11.9%", "fiscal 2023"), ("14.2%", "fiscal 2023")),
    "netchange": ("What is the net change in PP&E for AMD?", ("-$120 million", "FY2022"), ("$120.5 billion", "FY2022")),
    "capital": ("What was Costco's working capital?", ("$2,296 million", "FY2023"), ("$1,507 million", "FY2023")),
    "payout": ("What was Pepsi's dividend payout ratio?", ("0.66", "FY2022"), ("0.58", "FY2022")),
    "opchange": (
        "What is Adobe's year-over-year change in unadjusted operating income from FY2015 to FY2016?",
        ("65.4%", None),
        ("42.1%", None),
    ),
    "roa": (
        "What is the FY2022 return on assets (ROA) for AES? Round your answer to two decimal places.",
        ("-0.02", "FY2022"),
        ("0.03", "FY2022"),
    ),
    "netinc": (
        "What is Amazon's FY2019 net income attributable to shareholders (in USD millions)?",
        ("$11588.00", "FY2019"),
        ("$10073.00", "FY2019"),
    ),
    "dividends": (
        "How much (in USD billions) did American Water Works pay out in cash dividends for FY2020?",
        ("$0.40", "FY2020"),
        ("$0.35", "FY2020"),
    ),
    "cogs": ("What is Coca Cola's FY2021 COGS % margin?", ("39.7%", "FY2021"), ("60.3%", "FY2021")),
    "dpo": ("What is Amazon's FY2017 days payable outstanding (DPO)?", ("93.86", "FY2017"), ("99.1", "FY2017")),
    "ppne": (
        "What is the year end FY2018 net PPNE for 3M? Answer in USD billions.",
        ("$8.70", "FY2018"),
        ("$8.87", "FY2018"),
    ),
    "ccc": ("What is the FY2019 cash conversion cycle (CCC) for General Mills?", ("-3.7", "FY2019"), ("8.3", "FY2019")),
    "rev": ("甲公司的营业收入是多少？", ("1,234.56万元", "2023年度"), ("2,345.67万元", "2023年度")),
}
ROWS = (Path(__file__).parent / "grader_wordings.tsv").read_text(encoding="utf-8").splitlines()
WORDINGS = [row.split("\t") for row in ROWS if not row.startswith("#")]


def _unescaped(written: str) -> str:
    """A row's answer: \\n stands for a line break, \\\\ for a backslash."""
    return re.sub(r"\\(.)", lambda mark: "\n" if mark.group(1) == "n" else mark.group(1), written)


@pytest.mark.parametrize(("case", "outcome", "answer"), WORDINGS)
def test_wording(case: str, outcome: str, answer: str) -> None:
    question, *golds = CASES[case]
    intended, default = (Gold(value, Interpretation(period=period)) for value, period in golds)
    verdict = grade_answer(question, intended, default, _unescaped(answer), "en")
    assert verdict.outcome == outcome, verdict.why

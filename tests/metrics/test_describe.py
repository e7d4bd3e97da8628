from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

from fiqkit.datasets import read_instances
from fiqkit.metrics.describe import describe
from fiqkit.records import Interpretation
from fiqkit.report.description import description_lines


@pytest.mark.conformance
def test_the_release(shared_data: Path):
    """The published table of the benchmark (protocol, section 1)."""
    found = describe(read_instances(shared_data / "fininteract" / "fininteract_v1.jsonl"))
    assert (found["n"], found["companies"], found["unnamed"]) == (173, 61, 3)
    assert found["languages"] == {"en": 53, "zh": 120}
    assert found["primary"] == {
        "entity_scope": 94,
        "temporal_scope": 7,
        "metric_definition": 63,
        "recognition_policy": 9,
        "filing_vintage": 0,
    }
    assert found["categories_each"] == {"1": 128, "2": 45}
    assert {name: round(value, 2) for name, value in found["h0"].items()} == {
        "mean": 2.2,
        "median": 2.0,
        "least": 1.0,
        "most": 3.58,
    }
    assert found["k"] == {"2": 16, "3": 49, "4": 63, "12": 45}
    assert (found["gaps"]["zh"]["n"], found["gaps"]["zh"]["default_larger"]) == (120, 113)
    assert found["gaps"]["all"]["least"] > 0.03  # R14
    assert found["measures"]["zh"]["effective"] < 1.3
    assert found["orbits"]["n"] == 0


def test_by_hand(make_instance):
    """Golds of 46.75 and 62.87: 34.5% apart, the default larger. Two siblings, and one that names no company."""
    siblings = [
        make_instance(instance_id=f"{i}", orbit="o", headline_intended=not i, h0=log2(3), ticker="A") for i in range(2)
    ]
    other = make_instance(
        instance_id="x",
        language="zh",
        ticker=None,
        company=None,
        answer="9.34亿元",
        default_answer="8.50亿元",
        categories=("metric_definition", "entity_scope"),
        intended_interpretation=Interpretation("甲", "2021至2022年度", "净利润（合并）"),
        default_interpretation=Interpretation("乙", "2022年度", "净利润"),
    )
    found = describe([*siblings, other])
    assert found["orbits"] == {"n": 1, "siblings": {"2": 1}, "headline_intended": 1}
    assert found["gaps"]["en"]["quartiles"][1] == pytest.approx(62.87 / 46.75 - 1)
    assert (found["gaps"]["zh"]["default_larger"], found["gaps"]["zh"]["quartiles"]) == (0, None)
    assert (found["companies"], found["unnamed"]) == (2, 1)
    assert found["periods"] == {"2022": 1, "2023": 2}
    assert found["measures"]["zh"]["top"] == {"净利润": 1}
    assert found["measures"]["all"]["effective"] == pytest.approx(1 / (4 / 9 + 1 / 9))
    assert found["fields"] == {"entity": 3, "metric": 1, "period": 1}
    assert found["any_category"]["entity_scope"] == 3
    assert found["k"] == {"3": 3}  # 2 to the power of 1.585 is 3 to three digits


def test_lines_name_everything(make_instance):
    lines = description_lines(describe([make_instance()]))
    assert lines[0] == "instances         1 of 1 companies (the largest has 100.0%), on 0 passages"
    assert any(line.startswith("primary category  entity scope 1 (100.0%)") for line in lines)
    assert any("too few pairs of values" in line for line in lines)


def test_the_order_of_instances_never_shows(make_instance):
    instances = [make_instance(instance_id=f"{i}", h0=1 + i / 7, ticker=f"T{i % 3}") for i in range(9)]
    assert describe(instances) == describe(instances[::-1])

"""The bundled set keeps what its card promises."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from math import log2
from pathlib import Path

import pytest

from fiqkit import bench_data, values
from fiqkit.construct.rules import PAPER, STRICTER, Case, broken
from fiqkit.datasets import instance_row, passage_row, read_instances, read_jsonl, read_passages
from fiqkit.index import Index
from fiqkit.records import Instance, Interpretation, Passage
from fiqkit.taxonomy import CATEGORIES

INSTANCES = read_instances(bench_data.INSTANCES)
PASSAGES = {passage.passage_id: passage for passage in read_passages(bench_data.PASSAGES)}
BY_ID = pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.instance_id)


def own(instance: Instance) -> Passage:
    return PASSAGES[instance.passage_id or ""]


def number(text: str, language: str) -> float:
    (value,) = values.find(text, language)
    return value.number


def is_larger(instance: Instance) -> bool:
    return number(instance.answer, instance.language) > number(instance.default_answer, instance.language)


def stands_first(instance: Instance) -> bool:
    text = own(instance).text
    return text.index(instance.intended_evidence_span) < text.index(instance.default_evidence_span)


# --- one instance ---------------------------------------------------------------------------------------------------


@BY_ID
def test_keeps_the_fourteen_rules(instance: Instance) -> None:
    assert not broken(Case(instance, own(instance).text), PAPER | STRICTER)


@BY_ID
def test_both_values_stand_in_its_own_passage_under_their_captions(instance: Instance) -> None:
    text = own(instance).text
    for span, answer in (
        (instance.intended_evidence_span, instance.answer),
        (instance.default_evidence_span, instance.default_answer),
    ):
        assert text.count(span) == 1
        assert answer in span
    assert len(values.find(text, instance.language)) >= 4


@BY_ID
def test_readings_are_enumerated_and_apart(instance: Instance) -> None:
    readings = instance.extra["readings"]
    assert instance.h0 == pytest.approx(log2(len(readings)), abs=1e-4)
    numbers = [number(reading["value"], instance.language) for reading in readings]
    assert {instance.answer, instance.default_answer} <= {reading["value"] for reading in readings}
    assert all(reading["value"] in own(instance).text for reading in readings)
    ours, default = (number(text, instance.language) for text in (instance.answer, instance.default_answer))
    for other in numbers:
        for gold in (ours, default):
            assert other == gold or abs(other - gold) > 0.01 * abs(gold)


@BY_ID
def test_the_category_is_the_field_in_which_the_readings_differ(instance: Instance) -> None:
    fields = instance.intended_interpretation.differs_from(instance.default_interpretation)
    assert fields == (CATEGORIES[instance.primary].field,)
    ours = instance.intended_interpretation
    others = [Interpretation(**reading["interpretation"]) for reading in instance.extra["readings"]]
    differing = {field for other in others for field in ours.differs_from(other)}
    assert {CATEGORIES[name].field for name in instance.categories} == differing


@BY_ID
def test_no_passage_says_what_only_the_key_knows(instance: Instance) -> None:
    for passage in PASSAGES.values():
        assert instance.context.rstrip(".。") not in passage.text
        assert instance.instance_id not in passage.text
    assert not any(name in own(instance).text for name in CATEGORIES)


# --- the set --------------------------------------------------------------------------------------------------------


def test_size_languages_and_categories() -> None:
    assert 40 <= len(INSTANCES) <= 80
    assert {instance.language for instance in INSTANCES} == {"en", "zh"}
    for language in ("en", "zh"):
        assert len({i.primary for i in INSTANCES if i.language == language}) >= 3
    assert len(PASSAGES) - len({i.passage_id for i in INSTANCES}) == 300


def test_the_first_eight_show_every_category_and_both_languages() -> None:
    few = INSTANCES[:8]
    assert {instance.primary for instance in few} == set(CATEGORIES)
    assert {instance.language for instance in few} == {"en", "zh"}


@pytest.mark.parametrize("holds", [is_larger, stands_first])
def test_size_and_place_are_balanced_in_every_category_and_language(holds: object) -> None:
    tally: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for instance in INSTANCES:
        tally[instance.language, instance.primary][holds(instance)] += 1  # type: ignore[operator]
    for group, count in tally.items():
        assert abs(count[True] - count[False]) <= count.total() % 2 + (count.total() > 8), (group, count)


def test_a_questions_form_is_the_same_in_every_category() -> None:
    forms: dict[tuple[str, str], set[str]] = defaultdict(set)
    for instance in INSTANCES:
        forms[instance.language, instance.primary].add(
            instance.question.split()[0] if instance.language == "en" else ""
        )
    assert all(len(starts) > 1 for (language, _), starts in forms.items() if language == "en")


def test_companies_are_told_apart_by_code_and_have_one_period_each() -> None:
    codes = {instance.cluster: instance.extra["company_code"] for instance in INSTANCES}
    assert len(codes) == len(set(codes.values())) == len(INSTANCES)
    periods: dict[str, set[str | None]] = defaultdict(set)
    for passage in PASSAGES.values():
        assert passage.passage_id.split("-")[0].isdigit()
        periods[passage.passage_id.split("-")[0]].add(passage.period)
    assert all(len(found) == 1 for found in periods.values())
    for language in ("en", "zh"):
        assert not {i.company for i in INSTANCES if i.language == language} & {
            p.company for p in PASSAGES.values() if p.passage_id not in {i.passage_id for i in INSTANCES}
        }


def test_filing_dates_are_known_or_left_out() -> None:
    for passage in PASSAGES.values():
        assert passage.filed is None or passage.period is None or passage.filed > passage.period


def test_files_are_in_the_kits_own_format() -> None:
    assert [row for _, row in read_jsonl(bench_data.INSTANCES)] == [instance_row(i) for i in INSTANCES]
    assert [row for _, row in read_jsonl(bench_data.PASSAGES)] == [passage_row(p) for p in PASSAGES.values()]


def test_the_prebuilt_index_is_of_these_passages_and_finds_them() -> None:
    index = Index.open(bench_data.INDEX, passages=list(PASSAGES.values()), lexical=True)
    hits = index.search_many([instance.question for instance in INSTANCES], k=3)
    found = [i.passage_id in {hit.passage_id for hit in some} for i, some in zip(INSTANCES, hits, strict=True)]
    assert sum(found) / len(found) >= 0.95


# --- against the sources --------------------------------------------------------------------------------------------


@pytest.mark.conformance
def test_every_value_of_every_passage_stands_in_a_source(shared_data: Path) -> None:
    """Read past the generator: each printed value is some source number of the same company, at the precision shown."""
    sources = source_numbers(shared_data)
    checked = 0
    for passage in PASSAGES.values():
        body = passage.text.split("\n", 1)[1]
        for value in values.find(body, passage.language):
            if value.kind not in ("currency", "per_share", "percent"):
                continue
            numbers = sources[passage.passage_id.split("-")[0]]
            half = value.step / 2 * (1 + 1e-9)
            assert any(abs(n - value.number) <= half for n in numbers), (passage.passage_id, value.text)
            checked += 1
    assert checked > 1200


def source_numbers(shared_data: Path) -> dict[str, list[float]]:
    """Every number that the sources hold of a company, by CIK or stock code; hand tables name no code."""
    hand = {"Verizon": "732712", "Adobe": "796343", "Coca-Cola": "21344", "Best Buy": "764478"}
    hand |= {"SALESFORCE": "1108524", "EBAY": "1065088", "INTEL": "50863"}
    numbers: dict[str, list[float]] = defaultdict(list)
    for path in sorted((shared_data / "candidates").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            named = hand.get(row.get("company", ""), hand.get(row.get("doc", "").split("_")[0], ""))
            code = row.get("cik") or row.get("code") or named
            found = [float(v) for v in row.values() if isinstance(v, int | float) and not isinstance(v, bool)]
            scale = {"USD m": 1e6, "USD k (EPS in USD)": 1e3}.get(row.get("unit", ""), 1e6)
            numbers[code] += found + [v * scale for v in found if code in hand.values()]
    with (shared_data / "facts" / "ashare.csv").open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            numbers[row["ticker"]] += [float(row[name]) for name in list(row)[4:] if row[name]]
    return numbers

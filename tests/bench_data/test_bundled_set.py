"""The bundled set keeps what its card promises."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from math import log2
from pathlib import Path

import pytest

from fiqkit import bench_data, values
from fiqkit.agent.questions import settling_question
from fiqkit.construct.audit import audit, read_cases
from fiqkit.construct.bundled.plan import planned, read_plan
from fiqkit.construct.facts import CANARY, FIGURES
from fiqkit.construct.rules import PAPER, STRICTER, broken
from fiqkit.construct.shortcuts import grouped, random_policy
from fiqkit.datasets import instance_row, read_instances, read_jsonl, read_passages
from fiqkit.errors import UserError
from fiqkit.index import Index
from fiqkit.records import Instance, Interpretation, Passage
from fiqkit.roles.interfaces import UserView
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

INSTANCES = read_instances(bench_data.INSTANCES)
PASSAGES = {passage.passage_id: passage for passage in read_passages(bench_data.PASSAGES)}
ORBITS: dict[str, list[Instance]] = defaultdict(list)
for _instance in INSTANCES:
    ORBITS[_instance.orbit or ""].append(_instance)


def own(instance: Instance) -> Passage:
    return PASSAGES[instance.passage_id or ""]


def code(instance: Instance) -> str:
    return str(instance.extra["company_code"])


@cache
def audited() -> dict[str, object]:
    return audit(read_cases(bench_data.INSTANCES, bench_data.PASSAGES))


# --- size and balance -----------------------------------------------------------------------------------------------


def test_size_languages_companies_and_categories() -> None:
    n = len(INSTANCES)
    assert n >= 600
    assert len(ORBITS) >= 220
    assert len({code(i) for i in INSTANCES}) >= 120
    assert len(PASSAGES) >= 3000
    assert sum(i.language == "zh" for i in INSTANCES) / n >= 0.25
    for category, count in Counter(i.primary for i in INSTANCES).items():
        assert 0.15 <= count / n <= 0.25, category


def test_property_is_at_most_half_of_recognition() -> None:
    miners = Counter(i.extra["certificate"]["miner"] for i in INSTANCES if i.primary == "recognition_policy")
    assert miners["recognition_policy/property"] <= miners.total() / 2
    assert len(miners) >= 5


def test_every_category_and_both_languages_are_among_the_first_orbits() -> None:
    few = INSTANCES[:10]
    assert {i.primary for i in few} == set(CATEGORIES)
    assert {i.language for i in few} == {"en", "zh"}


def test_splits_are_whole_stratified_and_share_no_company() -> None:
    splits = json.loads(bench_data.SPLITS.read_text(encoding="utf-8"))
    assert set(splits) == {"train", "validation", "test"}
    assert sorted(name for ids in splits.values() for name in ids) == sorted(i.instance_id for i in INSTANCES)
    where = {name: split for split, ids in splits.items() for name in ids}
    for field in (code, lambda i: i.orbit, lambda i: i.company):
        seen: dict[object, set[str]] = defaultdict(set)
        for instance in INSTANCES:
            seen[field(instance)].add(where[instance.instance_id])
        assert all(len(found) == 1 for found in seen.values())
    whole = Counter((i.primary, i.language) for i in INSTANCES)
    for split, ids in splits.items():
        share = len(ids) / len(INSTANCES)
        mine = Counter((i.primary, i.language) for i in INSTANCES if where[i.instance_id] == split)
        assert all(abs(mine[cell] - share * count) <= max(6, 0.35 * share * count) for cell, count in whole.items())


def test_the_plan_names_the_orbits_that_the_set_has() -> None:
    """A published set is pinned: its orbits by name, miner and the headline's fact, in its order."""
    plan = read_plan()
    asked = [(line.orbit, line.miner, line.fact) for line in plan if line.is_asked]
    certified = [(orbit, siblings[0].extra["certificate"]) for orbit, siblings in ORBITS.items()]
    assert asked == [(orbit, one["miner"], one["readings"][0]["facts"][0]) for orbit, one in certified]
    assert [line.orbit for line in plan] == [*PASSAGES][: len(plan)]


def test_an_orbit_that_is_no_longer_mined_is_named() -> None:
    with pytest.raises(UserError, match=f"{read_plan()[0].orbit} .* is not mined"):
        planned([], read_plan())


# --- orbits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orbit", ORBITS)
def test_an_orbit_intends_each_reading_once_and_shares_all_that_comes_before_a_reply(orbit: str) -> None:
    siblings = ORBITS[orbit]
    readings = siblings[0].extra["readings"]
    k = len(readings)
    assert k >= 2
    assert [i.answer for i in siblings] == [reading["value"] for reading in readings]
    assert [i.headline_intended for i in siblings] == [True] + [False] * (k - 1)
    assert [i.default_answer for i in siblings] == [siblings[1].answer] + [siblings[0].answer] * (k - 1)
    assert len({(i.question, i.passage_id, i.company, i.filing_type, i.filing_date) for i in siblings}) == 1
    assert len({i.context for i in siblings}) == k
    for instance, reading in zip(siblings, readings, strict=True):
        assert instance.h0 == pytest.approx(log2(k), abs=1e-4)
        assert instance.intended_interpretation == Interpretation(**reading["interpretation"])
        assert own(instance).text.count(instance.intended_evidence_span) == 1


def test_the_category_is_the_field_in_which_the_readings_differ() -> None:
    for instance in INSTANCES:
        fields = instance.intended_interpretation.differs_from(instance.default_interpretation)
        assert fields == (CATEGORIES[instance.primary].field,), instance.instance_id
        others = [Interpretation(**reading["interpretation"]) for reading in instance.extra["readings"]]
        differing = {name for other in others for name in instance.intended_interpretation.differs_from(other)}
        assert {CATEGORIES[name].field for name in instance.categories} == differing


def test_every_instance_keeps_the_fourteen_rules_also_stricter() -> None:
    for case in read_cases(bench_data.INSTANCES, bench_data.PASSAGES):
        assert not broken(case, PAPER) | broken(case, STRICTER), case.instance.instance_id


def test_a_question_settles_every_pair_in_the_users_mouth() -> None:
    """The template-asker resolves every orbit: its question is answered yes by one side and no by the other."""
    for siblings in ORBITS.values():
        asked = [(settling_question(i), UserView.of(i)) for i in siblings[:2]]
        replies = {reply_to(question, view) for question, view in asked}
        assert replies <= {"yes", "no"}, asked[0][0]
    told = [reply_to(settling_question(i), UserView.of(i)) for i in INSTANCES]
    assert told.count("i_dont_know") == 0


# --- passages -------------------------------------------------------------------------------------------------------


def test_passages_are_captioned_tables_with_units() -> None:
    for passage in PASSAGES.values():
        head, caption, columns, *rows = passage.text.split("\n")
        assert (passage.company or "") in head
        assert ("U.S. dollars" if passage.language == "en" else "金额单位") in caption
        assert " | " in columns
        assert len(rows) >= FIGURES[passage.language], passage.passage_id
        assert all(len(row.split(" | ")) == 2 and values.find(row.split(" | ")[1], passage.language) for row in rows)


def test_a_company_that_is_asked_about_keeps_to_one_period_and_states_each_topic_in_one_passage() -> None:
    asked = {code(i) for i in INSTANCES}
    periods: dict[str, set[str | None]] = defaultdict(set)
    for passage in PASSAGES.values():
        company = passage.passage_id.split("-")[0]
        if company in asked:
            periods[company].add(passage.period)
    assert all(len(found) == 1 for found in periods.values())
    for siblings in ORBITS.values():
        one = siblings[0]
        for passage in PASSAGES.values():
            if passage.passage_id.split("-")[0] == code(one) and passage.passage_id != one.passage_id:
                assert one.intended_evidence_span not in passage.text


def test_companies_of_one_name_are_not_asked_about() -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for passage in PASSAGES.values():
        names[passage.company or ""].add(passage.passage_id.split("-")[0])
    assert all(len(names[i.company or ""]) == 1 for i in INSTANCES)


def test_no_passage_says_what_only_the_key_knows() -> None:
    told = {i.context.rstrip(".。") for i in INSTANCES} | {i.instance_id for i in INSTANCES}
    text = "\n".join(passage.text for passage in PASSAGES.values())
    assert not any(words in text for words in told)
    assert not any(name in text for name in CATEGORIES)


def test_filing_dates_are_known_or_left_out() -> None:
    for passage in PASSAGES.values():
        assert passage.filed is None or passage.period is None or passage.filed > passage.period


def test_files_are_in_the_kits_own_format_and_carry_the_canary() -> None:
    assert [row for _, row in read_jsonl(bench_data.INSTANCES)] == [instance_row(i) for i in INSTANCES]
    assert all(
        row["canary"] == CANARY for path in (bench_data.INSTANCES, bench_data.PASSAGES) for _, row in read_jsonl(path)
    )


def test_the_first_set_is_still_readable() -> None:
    """The 62 instances of the first set: recorded runs name them, and other tests stand on them."""
    folder = Path(__file__).parent.parent / "data" / "first_set"
    assert len(read_instances(folder / "instances.jsonl")) == 62
    assert len(read_passages(folder / "passages.jsonl")) == 362


# --- what it gives away -----------------------------------------------------------------------------------------------


def test_no_shortcut_resolves_an_intent_and_words_say_little() -> None:
    checks = audited()["checks"]
    assert isinstance(checks, dict)
    for name, row in checks["no_ask"].items():
        assert row["intent_resolved"] <= 0, name
    assert checks["classifiers"]["category from the words of the question"]["share"] <= 0.40
    # Of three or four readings the headline is the default of every sibling but one, and seldom the intended of a pair.
    assert checks["classifiers"]["intended from the words of the two spans"]["share"] <= 0.60
    asking = checks["asking"]
    assert asking["constant_central"]["share"] <= 0.25
    assert asking["ceiling"] >= 0.65
    assert asking["live"] <= 1.5
    assert checks["leaks"] == checks["near_duplicates"] == checks["contradictory"] == checks["part_whole"] == []
    assert checks["orbits"]["incomplete"] == []
    assert checks["both_values_in_passage"] == 1.0


@pytest.mark.slow
def test_two_thousand_policies_that_know_everything_and_never_ask() -> None:
    groups = grouped(read_cases(bench_data.INSTANCES, bench_data.PASSAGES))
    rng = random.Random(0)
    found = [random_policy(groups, rng) for _ in range(2_000)]
    mean = sum(found) / len(found)
    spread = (sum((x - mean) ** 2 for x in found) / len(found)) ** 0.5
    assert mean <= 2 * spread / len(found) ** 0.5


# --- retrieval --------------------------------------------------------------------------------------------------------


def test_the_prebuilt_index_is_of_these_passages_and_finds_them() -> None:
    index = Index.open(bench_data.INDEX, passages=list(PASSAGES.values()), lexical=True)
    firsts = [siblings[0] for siblings in ORBITS.values()]
    hits = index.search_many([instance.question for instance in firsts], k=5)
    for language in ("en", "zh"):
        mine = [(i, some) for i, some in zip(firsts, hits, strict=True) if i.language == language]
        company = [any(hit.passage_id.split("-")[0] == code(i) for hit in some) for i, some in mine]
        own_one = [any(hit.passage_id == i.passage_id for hit in some) for i, some in mine]
        assert sum(company) / len(company) >= 0.95, language
        assert sum(own_one) / len(own_one) >= 0.80, language


# --- against the sources ----------------------------------------------------------------------------------------------


@pytest.mark.conformance
def test_every_golden_value_stands_in_a_source(shared_data: Path) -> None:
    """Read past the miners and past the fact store: each value that a filing states is a number of its company there.

    Computed values are left to the certificates; they say that they are computed.
    """
    numbers = source_numbers(shared_data)
    checked = 0
    for instance in INSTANCES:
        reading = instance.extra["certificate"]["readings"][instance.extra["certificate"]["intended"]]
        if reading["operation"] != "value":
            continue
        (value,) = values.find(instance.answer, instance.language)
        half = value.step / 2 * (1 + 1e-9)
        assert any(abs(n - value.number) <= half for n in numbers[code(instance)]), instance.instance_id
        checked += 1
    assert checked >= 0.75 * len(INSTANCES)


def source_numbers(data: Path) -> dict[str, set[float]]:
    """Every number that the sources hold of a company, by CIK or stock code."""
    numbers: dict[str, set[float]] = defaultdict(set)
    asked = {code(i) for i in INSTANCES}
    for company, value in _every_number(data):
        if company in asked:
            numbers[company].add(value)
    return numbers


def _every_number(data: Path) -> Iterator[tuple[str, float]]:
    with gzip.open(data / "sec" / "ixbrl_facts.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["cik"], row["v"]
    with zipfile.ZipFile(data / "sec" / "fsds" / "2009q3.zip") as archive:
        with archive.open("sub.txt") as raw:
            text = io.TextIOWrapper(raw, "utf-8", errors="replace")
            filer = {row["adsh"]: row["cik"] for row in csv.DictReader(text, delimiter="\t")}
        with archive.open("num.txt") as raw:
            for row in csv.DictReader(io.TextIOWrapper(raw, "utf-8", errors="replace"), delimiter="\t"):
                if row["value"]:
                    yield filer[row["adsh"]], float(row["value"])
    for path in sorted((data / "sec" / "companyfacts").glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as raw_json:
            facts = json.load(raw_json)
        for taxonomy in facts["facts"].values():
            for concept in taxonomy.values():
                for unit in concept["units"].values():
                    yield from ((str(facts["cik"]), item["val"]) for item in unit)
    for path in sorted((data / "candidates").glob("*.jsonl")):
        for _, row in read_jsonl(path):
            company = str(row.get("cik") or str(row.get("code", "")).zfill(6))
            yield from (
                (company, float(v)) for v in row.values() if isinstance(v, int | float) and not isinstance(v, bool)
            )
    with (data / "facts" / "ashare.csv").open(encoding="utf-8-sig", newline="") as table:
        for row in csv.DictReader(table):
            yield from ((row["ticker"], float(v)) for v in list(row.values())[4:] if v)


@pytest.mark.slow
@pytest.mark.conformance
def test_the_generator_makes_this_set_again_byte_for_byte(shared_data: Path, tmp_path: Path) -> None:
    from fiqkit.construct.bundled.__main__ import SEED, make
    from fiqkit.construct.bundled.sources import read_sources
    from fiqkit.construct.certificate import verify
    from fiqkit.construct.run import write
    from fiqkit.filings.store import FactStore

    read_sources(shared_data, tmp_path / "facts.db")
    write(make(tmp_path / "facts.db"), tmp_path / "again", SEED)
    for name in ("instances.jsonl", "passages.jsonl", "splits.json"):
        assert (tmp_path / "again" / name).read_bytes() == (bench_data.HERE / name).read_bytes(), name
    store = FactStore(tmp_path / "facts.db")
    assert verify(INSTANCES, store).failed == {}
    store.close()

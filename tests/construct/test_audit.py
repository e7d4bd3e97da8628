"""The audit of anyone's set, and certificates recomputed."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fiqkit.cli import fiqkit
from fiqkit.construct.audit import audit, contradictory, near_duplicates, part_whole, read_cases
from fiqkit.construct.certificate import look_up, verify
from fiqkit.construct.facts import render
from fiqkit.construct.rules import Case
from fiqkit.datasets import instance_row, write_jsonl
from fiqkit.errors import UserError
from fiqkit.filings.ingest import ingest
from fiqkit.filings.store import FactStore
from fiqkit.records import Instance, Interpretation, Passage

LINES = {
    "NetIncomeLoss": 100_000_000,
    "ProfitLoss": 110_000_000,
    "Revenues": 900_000_000,
    "CostOfRevenue": 500_000_000,
    "ResearchAndDevelopmentExpense": 50_000_000,
    "SellingGeneralAndAdministrativeExpense": 70_000_000,
    "IncomeTaxExpenseBenefit": 30_000_000,
    "InterestExpense": 12_000_000,
    "ShareBasedCompensation": 9_000_000,
    "PaymentsToAcquirePropertyPlantAndEquipment": 44_000_000,
}


@pytest.fixture
def store(tmp_path: Path) -> FactStore:
    """One annual report of one company."""
    row = {"cik": "1", "name": "ACME CORP", "form": "10-K", "accession": "0000000001-24-000001", "filed": "2024-02-01"}
    row |= {"u": "USD", "dec": "-6", "start": "2023-01-01", "end": "2023-12-31", "dims": {}}
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(json.dumps(row | {"c": f"us-gaap:{c}", "v": v}) for c, v in LINES.items()))
    ingest([path], tmp_path / "facts.db")
    return FactStore(tmp_path / "facts.db")


@pytest.fixture
def siblings(store: FactStore) -> tuple[list[Instance], Passage]:
    """The instances of the one orbit over whose net income is meant."""
    from fiqkit.construct.holdings import companies
    from fiqkit.construct.miners.entity import mine

    (orbit,) = (o for company in companies(store) for o in mine(company))
    made = render(orbit, seed=1)
    assert made
    return made


def test_an_orbit_intends_each_reading_once_and_shares_all_else(siblings: tuple[list[Instance], Passage]) -> None:
    instances, passage = siblings
    assert [i.answer for i in instances] == ["$100 million", "$110 million"]
    assert [i.headline_intended for i in instances] == [True, False]
    assert [i.default_answer for i in instances] == ["$110 million", "$100 million"]
    assert len({(i.question, i.passage_id, i.orbit, i.h0, i.categories) for i in instances}) == 1
    assert len({i.context for i in instances}) == 2
    assert len(passage.text.split("\n")) - 3 >= 8
    assert all(i.intended_evidence_span in passage.text for i in instances)


def test_the_same_seed_gives_the_same_texts_and_another_one_others(store: FactStore) -> None:
    from fiqkit.construct.holdings import companies
    from fiqkit.construct.miners.entity import mine

    (orbit,) = (o for company in companies(store) for o in mine(company))
    assert render(orbit, 1) == render(orbit, 1)
    asked = {made[0][0].question for seed in range(20) if (made := render(orbit, seed))}
    assert len(asked) > 3


def test_every_certificate_is_recomputed_from_the_store(
    store: FactStore, siblings: tuple[list[Instance], Passage]
) -> None:
    done = verify(siblings[0], store)
    assert (done.n, done.recomputed, done.failed) == (2, 2, {})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda i: replace(i, answer="$101 million"), "is not the certified"),
        (lambda i: replace(i, extra={}), "no certificate"),
        (lambda i: _tampered(i, "readings", 0, "value", 100_000_001.0), "gives"),
        (lambda i: _tampered(i, "readings", 0, "facts", ["1 us-gaap:Nothing USD {} - 2023-12-31 - - -"]), "no value"),
        (lambda i: _tampered(i, "readings", 0, "operation", "guess"), "unknown operation"),
        (lambda i: _shown(i, "$999 million"), "is not"),
    ],
)
def test_a_certificate_that_does_not_hold_says_why(
    store: FactStore, siblings: tuple[list[Instance], Passage], change: object, says: str
) -> None:
    done = verify([change(siblings[0][0])], store)  # type: ignore[operator]
    assert says in next(iter(done.failed.values()))


def _tampered(instance: Instance, *path: object) -> Instance:
    certificate = json.loads(json.dumps(instance.extra["certificate"]))
    *way, last, value = path
    place = certificate
    for step in way:
        place = place[step]
    place[last] = value
    return replace(instance, extra={**instance.extra, "certificate": certificate})


def _shown(instance: Instance, value: str) -> Instance:
    readings = json.loads(json.dumps(instance.extra["readings"]))
    readings[1]["value"] = value
    return replace(instance, extra={**instance.extra, "readings": readings})


def test_a_contradiction_in_the_store_is_not_one_value(store: FactStore) -> None:
    name = "1 us-gaap:NetIncomeLoss USD {} 2023-01-01 2023-12-31 10-K 0000000001-24-000001 2024-02-01"
    assert look_up(store, name) == [100_000_000]
    writer = sqlite3.connect(store.path)
    writer.execute(
        "INSERT INTO facts SELECT entity, name, concept, value * 2, unit, decimals, start, end, dims, form, accession, "
        "filed, source, copies, file FROM facts WHERE concept = 'us-gaap:NetIncomeLoss'"
    )
    writer.commit()
    writer.close()
    assert len(look_up(store, name)) == 2


def test_the_audit_of_a_good_orbit(siblings: tuple[list[Instance], Passage]) -> None:
    instances, passage = siblings
    found = audit([Case(instance, passage.text) for instance in instances])
    assert (found["n"], found["passed"]) == (2, 2)
    assert list(found["rules"]) == [f"R{n}" for n in range(1, 15)]
    assert all(not held["failed"] for held in (*found["rules"].values(), *found["stricter"].values()))
    checks = found["checks"]
    assert checks["orbits"] == {"orbits": 1, "in_orbits": 2, "sizes": {"2": 1}, "incomplete": []}
    assert checks["leaks"] == checks["near_duplicates"] == checks["contradictory"] == checks["part_whole"] == []
    assert checks["both_values_in_passage"] == 1.0


def test_an_orbit_that_lacks_a_sibling_and_a_leak_are_found(siblings: tuple[list[Instance], Passage]) -> None:
    instances, passage = siblings
    told = f"{passage.text}\n{instances[0].context}"
    checks = audit([Case(instances[0], told)])["checks"]
    assert checks["orbits"]["incomplete"] == [instances[0].orbit]
    assert checks["leaks"] == [instances[0].instance_id]


PAIR = Instance(
    instance_id="a",
    question="What was Acme's revenue?",
    context="All of it.",
    answer="$10 million",
    default_answer="$4 million",
    intended_interpretation=Interpretation(entity="consolidated"),
    default_interpretation=Interpretation(entity="Widgets segment"),
    categories=("entity_scope",),
    h0=1.0,
    language="en",
    company="Acme",
)


def test_pairs_that_repeat_or_contradict_each_other() -> None:
    again = replace(PAIR, instance_id="b", context="The whole.")
    other = replace(PAIR, instance_id="c", answer="$11 million")
    assert near_duplicates([PAIR, again]) == [["a", "b"]]
    assert near_duplicates([PAIR, other]) == []
    assert contradictory([PAIR, other]) == [["a", "c"]]
    assert contradictory([PAIR, again]) == []


def test_a_part_as_the_default_of_the_whole_is_named() -> None:
    assert part_whole([PAIR]) == ["a"]
    turned = replace(
        PAIR,
        intended_interpretation=PAIR.default_interpretation,
        default_interpretation=PAIR.intended_interpretation,
    )
    assert part_whole([turned]) == []


def test_rows_without_a_default_answer_are_audited_and_break_their_rules(tmp_path: Path) -> None:
    row = instance_row(PAIR)
    del row["default_answer"], row["default_interpretation"]
    write_jsonl(tmp_path / "pilot.jsonl", [row])
    found = audit(read_cases(tmp_path / "pilot.jsonl"))
    assert found["passed"] == 0
    assert found["rules"]["R11"]["failed"] == ["a"]


@pytest.mark.parametrize("text", ['{"passage_id": "p", "text": "t"}', "[1]", "", "{"])
def test_a_file_of_another_layout_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(UserError) as error:
        read_cases(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_the_commands_print_their_contracts(
    tmp_path: Path, store: FactStore, siblings: tuple[list[Instance], Passage]
) -> None:
    path = tmp_path / "set.jsonl"
    write_jsonl(path, map(instance_row, siblings[0]))
    run = CliRunner()
    audited = json.loads(run.invoke(fiqkit, ["audit", str(path), "--json"]).stdout)
    assert set(audited) == {"n", "passed", "rules", "stricter", "checks"}
    assert audited["rules"]["R1"]["failed"] == []
    table = run.invoke(fiqkit, ["audit", str(path)])
    assert table.exit_code == 0
    assert "2 of 2 instances keep R1 to R14" in table.stdout
    verified = run.invoke(fiqkit, ["verify", str(path), "--facts", str(store.path), "--json"])
    assert json.loads(verified.stdout) == {"n": 2, "recomputed": 2, "failed": {}}
    write_jsonl(path, [instance_row(replace(siblings[0][0], answer="$1 million"))])
    assert run.invoke(fiqkit, ["verify", str(path), "--facts", str(store.path)]).exit_code == 1


@pytest.mark.conformance
def test_what_the_audit_finds_in_the_release(shared_data: Path) -> None:
    """The figures of docs/audit-of-the-release.md."""
    found = audit(read_cases(shared_data / "fininteract" / "fininteract_v1.jsonl"))
    assert found["n"] == 173
    assert found["passed"] >= 160
    checks = found["checks"]
    assert checks["orbits"]["orbits"] == 0
    assert checks["no_ask"]["anything but the headline"]["accuracy"] == 1.0
    assert checks["asking"]["constant_central"] == {"category": "entity_scope", "share": round(94 / 173, 4)}

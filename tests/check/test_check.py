"""Each fault of a user's own files, told with its file and line; sound files give none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fiqkit import bench_data
from fiqkit.check.across import check
from fiqkit.check.template import FILES, INSTANCES, PASSAGES, write_template
from fiqkit.commands.check import command
from fiqkit.datasets import parse_instance
from fiqkit.errors import UserError
from fiqkit.index.builder import build
from fiqkit.measurable import refuse_unmeasurable

INSTANCE, PASSAGE = INSTANCES[0], PASSAGES[0]


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def found(tmp_path: Path, *instances: dict[str, Any], passages: list[dict[str, Any]] | None = None) -> list[str]:
    """The findings on instances beside the template's passage; a fault begins with "!"."""
    files = [
        jsonl(tmp_path / "i.jsonl", *instances),
        jsonl(tmp_path / "p.jsonl", *([PASSAGE] if passages is None else passages)),
    ]
    return [("!" if f.fatal else "") + str(f).removeprefix(str(tmp_path) + "/") for f in check(files).findings]


def reading(**fields: str) -> dict[str, Any]:
    return {**INSTANCE, "intended_interpretation": fields}


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (INSTANCE | {"answer": "$455.2 million"}, "!i.jsonl:1: answer '$455.2 million' and default_answer"),
        (INSTANCE | {"answer": "much"}, "!i.jsonl:1: answer 'much' holds no number"),
        (INSTANCE | {"context": "The 412 million one."}, "!i.jsonl:1: the context holds the answer"),
        (INSTANCE | {"context": "Not 0.455 billion dollars."}, "!i.jsonl:1: the context holds the default_answer"),
        (INSTANCE | {"question": "Was Acme Rockets' net income $412 million?"}, "!i.jsonl:1: the question holds"),
        (reading(**INSTANCE["default_interpretation"]), "!i.jsonl:1: the two interpretations do not differ"),
        (reading(Entity="parent", metric="x"), "!i.jsonl:1: intended_interpretation has the key 'Entity'"),
        (reading(scope="parent", metric="x"), "is 'entity' meant?"),
        (reading(metrics="x", entity="parent"), "is 'metric' meant?"),
        (reading(entity="parent", colour="red"), "i.jsonl:1: intended_interpretation has the key 'colour'"),
        (INSTANCE | {"passageid": "x"}, "i.jsonl:1: field 'passageid' is not read; is 'passage_id' meant?"),
        (INSTANCE | {"language": "de"}, "!i.jsonl:1: language 'de'"),
        (INSTANCE | {"company": "Other Corp", "ticker": "OTHR"}, "!i.jsonl:1: passage 'acme-10k-2024:0012' is of"),
        (INSTANCE | {"answer": "$410.5 million"}, None),  # within the grader's tolerance of what the passage holds
        (INSTANCE | {"answer": "$500 million"}, "i.jsonl:1: its passage does not hold the answer '$500 million'"),
        (INSTANCE | {"default_evidence_span": "so it was"}, "does not hold the default_evidence_span 'so it was'"),
        (INSTANCE | {"passage_id": "none"}, "i.jsonl:1: passage 'none' is not at hand; one is built"),
        (
            INSTANCE | {"passage_id": "none", "default_evidence_span": ""},
            "!i.jsonl:1: passage 'none' is not at hand, nor",
        ),
        (INSTANCE | {"orbit": "o1"}, "!i.jsonl:1: alone in orbit 'o1'"),
        (INSTANCE | {"question": "Was Acme Rockets profitable?"}, "i.jsonl:1: breaks construction rule R1"),
    ],
)
def test_faults_of_an_instance(instance: dict[str, Any], words: str | None, tmp_path: Path) -> None:
    findings = found(tmp_path, instance)
    assert (
        any(words in line for line in findings) if words else not any("does not hold the answer" in f for f in findings)
    )


def test_the_same_company_is_known_by_another_form_of_its_name(tmp_path: Path) -> None:
    for company, ticker in (("Acme Rockets, Inc.", "ACME"), ("ACME ROCKETS CORPORATION", None), ("Acme", "ACM.A")):
        assert found(tmp_path, INSTANCE, passages=[PASSAGE | {"company": company, "ticker": ticker}]) == []


def test_duplicates(tmp_path: Path) -> None:
    again = INSTANCE | {"instance_id": "other"}
    assert found(tmp_path, INSTANCE, again)[0].startswith("i.jsonl:2: the same question, context and answer as")
    assert found(tmp_path, INSTANCE, INSTANCE)[0].startswith("!i.jsonl:2: instance_id 'acme-2024-net-income' already")
    changed = PASSAGE | {"text": PASSAGE["text"] + " More."}
    assert found(tmp_path, INSTANCE, passages=[PASSAGE, changed])[0].startswith("!p.jsonl:2: passage_id")
    copied = PASSAGE | {"passage_id": "copy"}
    assert "under another id" in found(tmp_path, INSTANCE, passages=[PASSAGE, copied])[0]


def test_siblings_share_question_and_passage_and_each_reading_is_intended_once(tmp_path: Path) -> None:
    first = INSTANCE | {"orbit": "o"}
    second = first | {
        "instance_id": "b",
        "answer": "$455 million",
        "default_answer": "$412 million",
        "context": "With noncontrolling interests.",
        "intended_evidence_span": INSTANCE["default_evidence_span"],
        "default_evidence_span": INSTANCE["intended_evidence_span"],
    }
    assert found(tmp_path, first, second) == []
    assert any(
        "another question" in line
        for line in found(tmp_path, first, second | {"question": "What was Acme Rockets' loss?"})
    )
    same = second | {"answer": "$412 million", "default_answer": "$455 million"}
    assert any("is intended at" in line for line in found(tmp_path, first, same))


def test_lines_that_cannot_be_read_do_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text(f"{json.dumps(INSTANCE)}\nnonsense\n{json.dumps(INSTANCE | {'instance_id': 'b', 'answer': 'x'})}\n")
    findings = [str(f) for f in check([path]).findings if f.fatal]
    assert [line.split(":")[1] for line in findings] == ["2", "3"]


def test_an_index_of_other_passages_and_a_ruled_line_of_an_unknown_instance(tmp_path: Path) -> None:
    from fiqkit.datasets import parse_passage

    build([parse_passage(PASSAGE, "x")], tmp_path / "index", embedder_name="none")
    instances, passages = jsonl(tmp_path / "i.jsonl", INSTANCE), jsonl(tmp_path / "p.jsonl", PASSAGE)
    assert check([instances, passages, tmp_path / "index"]).findings == []
    assert check([instances, tmp_path / "index"]).findings == []
    other = jsonl(tmp_path / "p2.jsonl", PASSAGE | {"text": "Something else."})
    assert any("stale" in f.what and f.fatal for f in check([instances, other, tmp_path / "index"]).findings)
    ruled = jsonl(tmp_path / "q.jsonl", FILES["questions.jsonl"][0] | {"instance_id": "nobody"})
    assert "'nobody'" in check([instances, ruled]).findings[0].what


def test_the_template_is_sound_and_never_overwrites(tmp_path: Path) -> None:
    files = write_template(tmp_path / "new")
    assert check(files).findings == []
    with pytest.raises(UserError, match="is there already"):
        write_template(tmp_path / "new")


def test_the_bundled_set_is_sound() -> None:
    assert check([bench_data.INSTANCES, bench_data.PASSAGES, bench_data.INDEX], rules=False).findings == []


@pytest.mark.conformance
def test_the_release_has_no_fault(shared_data: Path) -> None:
    folder = shared_data / "fininteract"
    for version in ("v1", "v1.1"):
        files = [folder / f"fininteract_{version}.jsonl", *sorted(folder.glob("*_passages.jsonl"))]
        assert [str(f) for f in check(files, rules=False).findings if f.fatal] == []


def test_the_command(tmp_path: Path) -> None:
    bad = jsonl(tmp_path / "i.jsonl", INSTANCE | {"answer": "much"})
    result = CliRunner().invoke(command, [str(bad), "--json"])
    assert isinstance(result.exception, UserError) and "1 faults" in str(result.exception)
    assert json.loads(result.stdout)["findings"][0]["fault"] is True
    assert CliRunner().invoke(command, [str(jsonl(tmp_path / "ok.jsonl", INSTANCE))]).exit_code == 0
    for arguments, words in (
        ([], "name a file"),
        ([str(tmp_path)], "a folder without an index"),
        (["/no/file"], "cannot"),
    ):
        assert words in str(CliRunner().invoke(command, arguments).exception)
    with pytest.raises(UserError, match="neither an instance"):
        check([jsonl(tmp_path / "x.jsonl", {"a": 1})])


def test_a_run_refuses_what_cannot_be_measured() -> None:
    good = parse_instance(INSTANCE, "x")
    refuse_unmeasurable([good])
    bad = [parse_instance(INSTANCE | {"instance_id": f"i{n}", "answer": "much"}, "x") for n in range(5)]
    with pytest.raises(UserError, match=r"^what cannot be measured: i0: answer 'much' .*, and 2 more \(fiqkit check"):
        refuse_unmeasurable([good, *bad])

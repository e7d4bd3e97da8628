"""report, compare, grade, judge and import as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fiqkit.cli import fiqkit, main
from fiqkit.figures import gallery


def run(*args: str) -> str:
    return CliRunner().invoke(fiqkit, list(args), catch_exceptions=False).stdout


def fails(capsys, *args: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(list(args))
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


CONTRACT = {
    *("run", "model", "mode", "grader", "n", "accuracy", "accuracy_ci", "default_capture", "interaction_rate"),
    *("mean_asks", "mean_turns", "ece", "dise_plus_all", "by_language", "by_category", "ac1_touch", "ac1_central"),
}


def test_report_json(store_file: Path):
    found = json.loads(run("report", "--store", str(store_file), "--json"))
    assert len(found["rows"]) == 4
    assert found["rows"][0].keys() >= CONTRACT
    assert found == json.loads(run("report", "r1", "--store", str(store_file), "--format", "json"))
    assert {row["model"] for row in found["references"]} >= {"random-reading", "contrarian", "default-reader"}


def test_report_on_a_terminal(store_file: Path):
    text = run("report", "last", "--store", str(store_file))
    assert "alpha: search → interact" in text and "run r1 is partial" in text


def test_report_files(store_file: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(gallery, "PLATES", gallery.PLATES[:2])
    run(
        "report",
        "--store",
        str(store_file),
        "--format",
        "md",
        "--html",
        str(tmp_path / "p.html"),
        "--figures",
        str(tmp_path / "f"),
    )
    assert (tmp_path / "p.html").stat().st_size > 50_000
    assert (tmp_path / "f" / "accuracy.svg").exists() and (tmp_path / "f" / "accuracy.png").exists()


def test_compare(store_file: Path):
    sides = ("r1:beta & co:search", "last:beta & co:interact")
    found = json.loads(run("compare", *sides, "--store", str(store_file), "--json"))
    assert (found["n"], found["gained"], found["lost"]) == (6, 2, 0)
    assert found["first"] == {"run": "r1", "model": "beta & co", "mode": "search", "grader": "rules"}
    assert found["measures"]["accuracy"]["difference"] == pytest.approx(1 / 3)
    text = run("compare", *sides, "--store", str(store_file))
    assert "exact McNemar p 0.500" in text and "+33.3" in text and "last:beta & co:interact@index" not in text
    assert "r1:beta & co:interact@index" in text


def test_a_side_is_of_one_retrieval(capsys, tmp_path: Path, make_instance):
    from fiqkit.datasets import dataset_hash
    from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Outcome
    from fiqkit.store.store import Store

    store, item = Store(tmp_path / "s.db", create=True), make_instance()
    store.begin_run("r", "run", dataset_hash([item]), [item], {})
    for retrieval, outcome in (("own", Outcome.INTENDED), ("index", Outcome.OTHER)):
        episode = Episode(item.instance_id, "m@1:x", "search", Ending.ANSWERED, "$5", retrieval=retrieval)
        store.write("r", [(episode, [AnswerVerdict.of("rules", Grade(outcome))])])
    store.set_status("r", "done")
    store.close()
    at = ("--store", str(tmp_path / "s.db"))
    found = json.loads(run("compare", "r:m@1:x:search@own", "r:m@1:x:search@index", *at, "--json"))
    assert found["retrieval"] == ["own", "index"] and found["measures"]["accuracy"]["difference"] == -1
    assert any("searched by own" in note for note in found["notes"])
    said = fails(capsys, "compare", "r:m@1:x:search", "r:m@1:x:search@own", *at)
    assert "name m@1:x:search@index or m@1:x:search@own" in said
    assert "it has m@1:x:search@index, m@1:x:search@own" in fails(capsys, "compare", *["r:m@1:x:search@web"] * 2, *at)


def test_bad_input(capsys, store_file: Path, tmp_path: Path):
    store = ("--store", str(store_file))
    assert "no run 'gone'" in fails(capsys, "report", "gone", *store)
    assert "no run store there" in fails(capsys, "report", "--store", str(tmp_path / "none.db"))
    assert "is not RUN:MODEL:MODE" in fails(capsys, "compare", "r1", "r1:alpha:search", *store)
    said = fails(capsys, "compare", "r1:alpha:answer", "r1:alpha:search", *store)
    assert "no episodes of alpha:answer; it has alpha:search, alpha:interact" in said
    assert "no verdict of grader 'x'" in fails(capsys, "report", "--grader", "x", *store)
    assert "g.jsonl" in fails(capsys, "grade", "--file", str(tmp_path / "g.jsonl"))


def test_a_store_without_runs(capsys, tmp_path: Path):
    from fiqkit.store.store import Store

    Store(tmp_path / "s.db", create=True).close()
    assert "holds no run yet" in fails(capsys, "report", "--store", str(tmp_path / "s.db"))


def test_import_says_what_is_bad_and_exits_with_2(tmp_path: Path, make_instance, capsys):
    from fiqkit.datasets import instance_row, write_jsonl

    write_jsonl(tmp_path / "fininteract_v1.jsonl", [instance_row(make_instance())])
    good = {"instance_id": "t1", "model": "m", "mode": "answer-only", "correct": True, "final_answer": "$5"}
    (tmp_path / "eval_x.jsonl").write_text(json.dumps(good) + "\n{\n", encoding="utf-8")
    call = ("import", "fininteract", str(tmp_path), "--store", str(tmp_path / "s.db"))
    said = fails(capsys, *call)
    assert "eval_x.jsonl:2: not valid JSON" in said
    found = json.loads(run(*call, "--keep-going", "--json"))
    assert len(found["faults"]) == 1 and found["imported"][-1]["added"] == 0
    row = json.loads(run("report", "--store", str(tmp_path / "s.db"), "--json"))["rows"][0]
    assert (row["n"], row["accuracy"], row["grader"], row["mode"]) == (1, 1.0, "recorded", "answer")


def graded_by(tmp_path: Path, *runs: tuple[str, str, dict]) -> Path:
    """A store of runs over one instance each, (run, grader, changes of the instance)."""
    from fiqkit.datasets import dataset_hash
    from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Interpretation, Outcome
    from fiqkit.store.store import Store

    store = Store(tmp_path / "two.db", create=True)
    for run, grader, changes in runs:
        fields = {"context": "Consolidated.", "answer": "$5", **changes}
        instance = Instance(
            *("t1", "Income?", fields["context"], fields["answer"], "$7"),
            *(Interpretation("whole"), Interpretation("part"), ("entity_scope",), 1.0, "en"),
        )
        store.begin_run(run, "run", dataset_hash([instance]), [instance], {})
        given = [AnswerVerdict.of(grader, Grade(Outcome.INTENDED))]
        store.write(run, [(Episode("t1", "m", "search", Ending.ANSWERED, "$5"), given)])
        store.set_status(run, "done")
    store.close()
    return tmp_path / "two.db"


def test_two_graders_are_not_compared(capsys, tmp_path: Path):
    store = graded_by(tmp_path, ("a", "rules", {}), ("b", "llm x@1", {}))
    said = fails(capsys, "compare", "a:m:search", "b:m:search", "--store", str(store))
    assert "graded by rules" in said and "by llm x@1" in said and "--grader" in said


def test_two_data_sets_are_paired_by_record(capsys, tmp_path: Path):
    """The same record in two sets is a pair; the same id with another record is none."""
    store = graded_by(tmp_path, ("a", "rules", {}), ("b", "rules", {"answer": "$6"}))
    said = fails(capsys, "compare", "a:m:search", "b:m:search", "--store", str(store))
    assert "no scored item in common" in said
    assert json.loads(run("report", "all", "--store", str(store), "--json"))["comparisons"] == []


def test_a_report_is_of_the_last_run(tmp_path: Path):
    store = graded_by(tmp_path, ("a", "rules", {}), ("b", "rules", {}))
    assert [row["run"] for row in json.loads(run("report", "--store", str(store), "--json"))["rows"]] == ["b"]
    both = json.loads(run("report", "all", "--store", str(store), "--json"))
    assert [row["run"] for row in both["rows"]] == ["a", "b"]
    assert [found["kind"] for found in both["comparisons"]] == ["run"]


def test_a_cutoff_parts_every_row(tmp_path: Path):
    store = graded_by(tmp_path, ("a", "rules", {}))
    (row,) = json.loads(run("report", "--cutoff", "2024-01-01", "--store", str(store), "--json"))["rows"]
    assert row["by_cutoff"]["undated"]["n"] == 1


def test_rulings_correct_the_accuracy(store_file: Path, tmp_path: Path, capsys):
    """Every answer of the store is one text; those of beta in interact are ruled on, one of them against its grade."""
    answer = '</script><b onclick="x">&amp; 净利润 \u2028 $5'
    rulings = [
        {"instance_id": f"t{i}", "final_answer": answer, "model": "beta & co", "mode": "interact", "outcome": outcome}
        for i, outcome in enumerate(("intended", "default", "intended", None))
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, rulings)), encoding="utf-8")
    store = ("--store", str(store_file))
    rows = json.loads(run("report", *store, "--labels", str(file), "--json"))["rows"]
    ruled = {(row["model"], row["mode"]): row["corrected"] for row in rows}
    assert ruled["beta & co", "interact"]["rulings"] == 3
    assert ruled["beta & co", "interact"]["prediction_powered"] == pytest.approx(2 / 6 + 1 / 3)
    assert ruled["alpha", "search"]["rulings"] == 0
    assert "sensitivity 50.0, specificity 100.0" in run("report", *store, "--labels", str(file))
    file.write_text('{"instance_id": "t0", "final_answer": "$1", "outcome": "right"}')
    assert "labels.jsonl:1: outcome 'right' is none of intended" in fails(
        capsys, "report", *store, "--labels", str(file)
    )
    file.write_text('{"instance_id": "t0", "final_answer": "$1", "outcome": "intended"}')
    assert "none of its 1 rulings" in fails(capsys, "report", *store, "--labels", str(file))


def test_a_kept_calibration_corrects_where_no_label_does(store_file: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setenv("FIQKIT_CARDS", str(tmp_path / "cards.toml"))
    (tmp_path / "cards.toml").write_text('[tiny]\nengine = "llama.cpp"\nweights = "tiny.gguf"\n')
    asked = {"question": "What was Acme's net income?", "intended_answer": "$5 million", "default_answer": "$9 million"}
    answers = ["$5 million"] * 3 + ["$7 million"] * 2
    ruled = ["intended", "intended", "intended", "other", "intended"]
    rows = [asked | {"final_answer": a, "outcome": r} for a, r in zip(answers, ruled, strict=True)]
    questions = [
        {"question": "Do you mean the consolidated figure?", "touched": ["entity_scope"], "central": "entity_scope"},
        {"question": "Do you mean the fiscal year?", "touched": ["entity_scope"], "central": "entity_scope"},
    ]
    files = {"grade": tmp_path / "answers.jsonl", "judge": tmp_path / "questions.jsonl"}
    for command, lines in (("grade", rows), ("judge", questions)):
        files[command].write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        run(command, "--file", str(files[command]), "--calibrate")
    kept = tmp_path / "calibration.json"
    counts = {name: [entry[k] for k in ("hits", "right", "passes", "wrong")] for name, entry in read(kept).items()}
    assert counts == {"grader rules": [3, 4, 1, 1], "judge rules": [1, 2, 7, 8]}
    store = ("--store", str(store_file))
    found = json.loads(run("report", *store, "--json"))["rows"]
    alpha = next(row for row in found if (row["model"], row["mode"]) == ("alpha", "interact"))
    assert alpha["corrected"]["rogan_gladen"] == pytest.approx(alpha["accuracy"] / 0.75)
    assert alpha["corrected"]["held_against"].startswith("answers.jsonl@") and alpha["corrected"]["doubt"]
    assert alpha["corrected_ac1_touch"]["rogan_gladen"] == 1.0  # more hits than so poor an eye would see
    assert "grader rules against answers.jsonl@" in (text := run("report", *store)) and "AC@1 by touch" in text
    # a grader that tells nothing is not kept, files that are none are a line, rules of another version do not count
    files["grade"].write_text("\n".join(json.dumps(row | {"outcome": "other"}) for row in rows))
    assert "no ruled answer is right" in fails(capsys, "grade", "--file", str(files["grade"]), "--calibrate")
    assert "name one with --file" in fails(capsys, "grade", *store, "--calibrate")
    assert "no file of calibrations" in fails(capsys, "report", *store, "--calibration", str(files["grade"]))
    assert "no such file" in fails(capsys, "report", *store, "--calibration", str(tmp_path / "none.json"))
    kept.write_text(json.dumps({name: entry | {"fiqkit": "0.0.9"} for name, entry in read(kept).items()}))
    assert "corrected" not in json.loads(run("report", *store, "--json"))["rows"][0]


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def test_the_order_in_which_work_ended_never_shows(tmp_path: Path, make_instance, monkeypatch):
    """The same episodes written forwards and backwards: `report --json` is equal to the byte."""
    from fiqkit.datasets import dataset_hash, record_hash
    from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Outcome, Turn
    from fiqkit.store import store as stores

    monkeypatch.setattr(stores, "now", lambda: "2026-01-01T00:00:00+00:00")
    outcomes = (Outcome.INTENDED, Outcome.DEFAULT, Outcome.OTHER)
    instances = [make_instance(instance_id=f"t{i}", h0=1 + i / 7, ticker=f"T{i % 4}") for i in range(12)]
    ask = Turn("interact", {"question": "Consolidated?"}, observation="Yes.")
    pairs = [
        (
            Episode(
                i.instance_id, model, mode, Ending.ANSWERED, "$1", 7.0 * at, (ask,) * (at % 3), item=record_hash(i)
            ),
            [AnswerVerdict.of("rules", Grade(outcomes[at % 3]))],
        )
        for model in ("b", "a")
        for mode in ("interact", "search")
        for at, i in enumerate(instances)
    ]
    printed = []
    for name, order in (("one", pairs), ("two", pairs[::-1])):
        store = stores.Store(tmp_path / f"{name}.db", create=True)
        store.begin_run("r", "run", dataset_hash(instances), instances, {})
        for pair in order:
            store.write("r", [pair])
        store.set_status("r", "done")
        store.close()
        printed.append(run("report", "--store", str(tmp_path / f"{name}.db"), "--json"))
    assert printed[0] == printed[1]

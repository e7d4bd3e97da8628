"""The main table in every format, and what is said beside it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from fiqkit.report.document import make_report
from fiqkit.report.formats import as_csv, as_latex, as_markdown
from fiqkit.report.notes import change_name, comparison_notes, notes, partial_runs
from fiqkit.report.numbers import p_value, percent_interval, points
from fiqkit.report.terminal import comparison_table, main_table
from fiqkit.store.store import Store


@pytest.fixture
def report(store_file: Path):
    return make_report(Store(store_file))


def printed(report, width: int) -> list[str]:
    out = io.StringIO()
    table = main_table(report.rows, width=width, references=report.references)
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue().splitlines()


def test_numbers(report):
    first = report.rows[0]
    assert (first["model"], first["mode"], first["n"], first["episodes"]) == ("alpha", "search", 6, 8)
    assert (first["accuracy"], first["default_capture"]) == (0.0, pytest.approx(5 / 6))
    assert first["errors"]["E4"] == 1.0
    assert report.rows[1]["accuracy"] == pytest.approx(2 / 6)
    assert report.rows[1]["accuracy_best"] == pytest.approx(4 / 8)
    assert [c["p_mcnemar"] for c in report.comparisons] == [0.5, 0.5, 1.0]
    assert report.numbers()["runs"][0]["status"] == "partial"
    assert report.difficulty["t0"] == 0.5


@pytest.mark.parametrize("width", [44, 60, 80, 100, 112, 120, 140, 160])
def test_the_table_fits_and_breaks_no_name_or_number(report, width):
    lines = printed(report, width)
    assert max(map(len, lines)) <= width
    row = next(line for line in lines if line.startswith("alpha") and "interact" in line)
    assert (" 33.3 " if width <= 60 else "33.3 [4.3, 77.7]") in row
    assert any(line.startswith("intended-oracle") for line in lines)
    assert any(line.startswith("default-reader") for line in lines)


def test_the_forms_of_a_question_stand_together_before_they_are_left_out(report):
    narrow, middle, wide = (printed(report, width) for width in (44, 80, 160))
    assert ["AC@1" in lines[0] for lines in (narrow, middle, wide)] == [False, True, False]
    assert ["central" in lines[0] for lines in (narrow, middle, wide)] == [False, False, True]
    assert all(printed(report, width)[0].count("accuracy") == 1 for width in range(44, 170, 7))


def test_a_name_as_long_as_a_path_leaves_the_numbers_their_place(report):
    long = [{**row, "model": "openai:http://127.0.0.1:8000/v1:a-model-of-a-long-name"} for row in report.rows]
    out = io.StringIO()
    Console(file=out, width=100, color_system=None).print(main_table(long, width=100))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    assert "33.3 [4.3, 77.7]" in out.getvalue()
    assert "asked" in lines[0]


def test_what_is_outside_the_rates_is_said(report):
    said = notes(report.rows)
    assert len(said) == 4
    assert "1 unscored and 1 engine errors are outside the rates; accuracy is between 0.0 and 25.0" in said[0]
    assert "run r1 is partial" in partial_runs(report.runs)[0]


def test_runs_are_named_where_a_mode_occurs_twice(report):
    twice = [*report.rows, *({**row, "run": "r2"} for row in report.rows)]
    out = io.StringIO()
    Console(file=out, width=140, color_system=None).print(main_table(twice, width=140))
    assert out.getvalue().splitlines()[0].startswith("run")


def test_rows_of_two_graders_or_retrievals_are_told_apart(report):
    for name, other in (("grader", "llm x@1"), ("retrieval", "own")):
        out = io.StringIO()
        rows = [*report.rows, *({**row, name: other} for row in report.rows)]
        Console(file=out, width=140, color_system=None).print(main_table(rows, width=140))
        assert out.getvalue().splitlines()[0].startswith(name)


def test_each_data_set_has_its_table(report):
    out = io.StringIO()
    rows = [*report.rows, *({**row, "dataset": "other"} for row in report.rows)]
    Console(file=out, width=100, color_system=None).print(main_table(rows, width=100))
    assert [line.strip() for line in out.getvalue().splitlines() if line.startswith("data set")] == [
        "data set d",
        "data set other",
    ]


@pytest.mark.parametrize("width", [60, 120, 160])
def test_orbits_lead(report, width):
    orbits = {"intent_resolved": 0.125, "intent_resolved_ci": [-0.1, 0.3], "bits_resolved": 0.2}
    out = io.StringIO()
    rows = [{**row, **orbits} for row in report.rows]
    Console(file=out, width=width, color_system=None).print(main_table(rows, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].index("intent %") < lines[0].index("accuracy %")
    assert ("bits" in lines[0]) == (width > 60)
    assert ("12 [-10, 30]" if width == 60 else "12.5 [-10.0, 30.0]") in lines[2]
    assert "at most 0 in expectation" in " ".join(lines)


def comparison(**changes):
    sides = {name: {"run": "r1", "model": "a", "mode": "search", "retrieval": "index"} for name in ("first", "second")}
    first, second = changes.pop("first", {}), changes.pop("second", {})
    usual = {"kind": "mode", "difference": 0.1, "difference_lenient": 0.2, "clusters": 40, "few_clusters": False}
    return usual | {"first": sides["first"] | first, "second": sides["second"] | second} | changes


@pytest.mark.parametrize(
    ("first", "second", "runs", "said"),
    [
        ({}, {"mode": "interact"}, False, "a: search → interact"),
        ({}, {"mode": "interact"}, True, "a · r1: search → interact"),
        ({}, {"run": "r2"}, True, "a in search: r1 → r2"),
        ({}, {"model": "b"}, False, "search: a → b"),
        ({}, {"model": "b", "run": "r2"}, True, "search: a · r1 → b · r2"),
        ({"retrieval": "own"}, {}, False, "a in search: own → index"),
    ],
)
def test_a_change_names_what_differs(first, second, runs, said):
    assert change_name(comparison(first=first, second=second), runs=runs) == said


def test_a_sign_that_hangs_on_the_grading_is_said():
    lever = comparison(second={"mode": "interact"}, difference=-0.168, difference_lenient=0.052)
    (said,) = comparison_notes([lever, comparison(), comparison(difference_lenient=None)])
    assert said == (
        "a: search → interact: the sign depends on answers that name both golds; strict -16.8, lenient +5.2 points"
    )


def test_few_companies_are_said():
    (said,) = comparison_notes([comparison(clusters=4, few_clusters=True)])
    assert said == "4 companies, fewer than 10: with whole companies p cannot fall below 0.125"


def test_comparisons_on_a_terminal(report):
    """Two of six gained, in companies of one and two items: exact McNemar 2 / 2², and the companies' signs the same."""
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(comparison_table(report.comparisons))
    row = next(line for line in out.getvalue().splitlines() if line.startswith("alpha: search → interact"))
    assert row.split()[4] == "+33.3"
    assert row.split()[-3:-1] == ["0.500", "0.500"]
    assert "fewer than 10" in out.getvalue()


def test_a_judge_of_one_label_is_named(report):
    rows = [{**row, "ac1_touch": None, "ac1_central": 0.4, "judge": "recorded"} for row in report.rows[1:2]]
    assert any("judge recorded gave one label a question" in note for note in notes(rows))


def test_csv_holds_unrounded_numbers(report):
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert [float(row["accuracy"]) for row in rows] == [row["accuracy"] for row in report.rows]
    assert float(rows[1]["accuracy_high"]) == report.rows[1]["accuracy_ci"][1]
    assert rows[0]["ac1_touch"] == ""
    assert "by_language" not in rows[0]


def test_latex_is_escaped(report):
    text = as_latex(report)
    assert r"beta \& co & search" in text
    assert text.count(r"\addlinespace") == 1
    assert text.startswith("\\begin{tabular}") and text.endswith("\\end{tabular}\n")


def test_markdown_is_a_table(report):
    lines = as_markdown(report).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[3].startswith("| alpha | interact | 6 | 33.3 [4.3, 77.7] |")


def test_small_words():
    assert percent_interval(None, None) == "–"
    assert percent_interval(0.5, None) == "50.0"
    assert (points(0.0004), points(-0.0004), points(-0.075)) == ("0.0", "0.0", "-7.5")
    assert (p_value(0.00099), p_value(0.001), p_value(1)) == ("<.001", "0.001", "1.000")

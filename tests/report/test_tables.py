"""The main table in every format, and what is said beside it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from fiqkit.report.document import make_report
from fiqkit.report.formats import as_csv, as_latex, as_markdown
from fiqkit.report.terminal import main_table, notes, p_value, partial_runs, percent_interval
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


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_table_fits_and_breaks_no_number(report, width):
    lines = printed(report, width)
    assert max(map(len, lines)) <= width
    row = next(line for line in lines if line.startswith("alpha") and "interact" in line)
    assert "33.3 [0.0, 66.7]" in row
    assert ("ECE" in lines[0]) == (width == 140)
    assert any(line.startswith("default-reader") for line in lines)


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
    assert lines[3].startswith("| alpha | interact | 6 | 33.3 [0.0, 66.7] |")


def test_small_words():
    assert percent_interval(None, None) == "–"
    assert percent_interval(0.5, None) == "50.0"
    assert (p_value(0.00099), p_value(0.001), p_value(1)) == ("<.001", "0.001", "1.000")

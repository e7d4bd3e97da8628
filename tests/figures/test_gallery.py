"""Figures: every one is drawn from plain rows, odd rows included, and the same rows give the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fiqkit.figures.asking import targeting_by_category
from fiqkit.figures.gallery import HUMAN, PLATES, Material, draw_all
from fiqkit.figures.style import labels, save, styled, svg
from fiqkit.metrics.compare import table_comparisons
from fiqkit.metrics.errors import error_numbers
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.table import group, main_rows
from fiqkit.records import Ending, Judgement


def material(episodes: list[Scored]) -> Material:
    rows = main_rows(episodes, resamples=200)
    parts = group(episodes, lambda e: (e.run, e.model, e.mode))
    for row in rows:
        row |= error_numbers(parts[row["run"], row["model"], row["mode"]])
    return Material(rows, table_comparisons(episodes), HUMAN)


def episode(index: int, **changes) -> Scored:
    usual = Scored(
        *("r", "m", "interact", "rules", "rules", f"t{index}", "en", ("entity_scope",), 1.0 + index % 3, f"c{index}"),
        Ending.ANSWERED,
        "intended" if index % 2 else "default",
        bool(index % 2),
        not index % 2,
        confidence=10.0 * (index % 10),
        n_asks=1,
        questions=(Judgement(("entity_scope",), "entity_scope"),),
    )
    return replace(usual, **changes)


FULL = [
    episode(i, model=model, mode=mode, categories=("temporal_scope",) if i % 3 else ("entity_scope",))
    for model in ("a_$1$", "b")
    for mode in ("search", "interact")
    for i in range(12)
]
CASES = {
    "no episodes": [],
    "many models": [
        replace(e, model=f"model {i} of many", mode=m)
        for i in range(9)
        for m in ("search", "interact")
        for e in FULL[:4]
    ],
    "full": FULL,
    "two runs of one mode": [replace(e, run=run) for run in ("r1", "r2") for e in FULL],
    "one episode": [episode(1)],
    "nobody asked": [episode(i, n_asks=0, questions=(), mode="answer") for i in range(4)],
    "nothing scored": [episode(1, is_intended=None, is_default=None, outcome="unscored")],
    "only engine errors": [episode(1, ending=Ending.ENGINE_ERROR)],
    "defaults unknown": [episode(i, is_default=None) for i in range(3)],
}


@pytest.mark.parametrize("case", CASES)
def test_every_figure_is_drawn_or_left_out(case):
    drawn = draw_all(material(CASES[case]))
    names = {plate.name for plate, _ in drawn}
    silent = ("nobody asked", "no episodes", "nothing scored", "only engine errors")
    assert ("targeting" in names) == (case not in silent)
    assert ("lever" in names) == (case in ("full", "two runs of one mode", "many models"))
    if case == "full":
        assert all(svg(figure).startswith("<svg") for _, figure in drawn)
        assert names == {plate.name for plate in PLATES}


def test_orbits_lead():
    siblings = [replace(e, orbit=f"o{i // 2}", siblings=2) for i, e in enumerate(FULL)]
    plates = [plate.name for plate, _ in draw_all(material(siblings))]
    assert plates[0] == "orbits"
    assert "orbits" not in [plate.name for plate, _ in draw_all(material(FULL))]


def test_targeting_is_shown_in_every_form_that_the_judge_told():
    question = Judgement(("entity_scope",), "temporal_scope", named=("entity_scope",))
    told = [replace(e, questions=(question,)) for e in FULL]
    titles = [axes.get_title() for axes in targeting_by_category(main_rows(told, resamples=50)).axes]
    assert titles == ["AC@1, names its matter, %", "AC@1, raises it, %", "AC@1, is mainly about it, %"]
    central = [replace(e, questions=(Judgement(None, "entity_scope"),)) for e in FULL]
    assert len(targeting_by_category(main_rows(central, resamples=50)).axes) == 1


def test_six_runs_of_long_names_squeeze_and_clip_nothing():
    """Panels keep their size and the legend lies inside the figure, however many runs and however long their names."""
    long = "organisation/a-model-with-a-very-long-name-32b-instruct-2507-awq"
    runs = [replace(e, run=f"20261201-01183{n}-0ae7f3", model=f"{e.model} {long}") for n in range(6) for e in FULL[:24]]
    for plate, figure in draw_all(material(runs)):
        with styled():
            figure.canvas.draw()
        for axes in (axes for axes in figure.axes if axes.get_visible()):
            box = axes.get_window_extent()
            assert min(box.width / 0.9, box.height / 0.5) >= figure.dpi, plate.name
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert box.x0 >= 0, plate.name
            assert box.y0 >= 0, plate.name
            assert box.x1 <= figure.bbox.width, plate.name
            assert box.y1 <= figure.bbox.height, plate.name


def test_same_rows_same_bytes(tmp_path: Path):
    written = []
    for name in ("one", "two"):
        drawn = draw_all(material(FULL))[:3]
        written.append([path for plate, figure in drawn for path in save(figure, tmp_path / name, plate.name)])
    assert [path.name for path in written[0]] == [path.name for path in written[1]]
    assert len(written[0]) == 6
    for one, two in zip(*written, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_names_hold_no_markup():
    with styled():
        figure = PLATES[0].draw(material(FULL))
    assert "a_$1$" in svg(figure)


def test_figures_leave_the_style_alone():
    import matplotlib

    before = matplotlib.rcParams["svg.hashsalt"]
    with styled():
        assert matplotlib.rcParams["svg.hashsalt"] == "fiqkit"
    assert matplotlib.rcParams["svg.hashsalt"] == before


def test_labels_are_as_short_as_tells_rows_apart():
    rows = [
        {"model": "a", "mode": "x", "run": "1", "grader": "g"},
        {"model": "b", "mode": "x", "run": "1", "grader": "g"},
    ]
    assert labels(rows) == ["a", "b"]
    assert labels([rows[0], {**rows[0], "mode": "y"}]) == ["a · x", "a · y"]
    assert labels([rows[0], {**rows[0], "run": "2"}]) == ["a · x · 1", "a · x · 2"]

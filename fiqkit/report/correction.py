"""Rows of a report with their rates corrected for those who gave the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fiqkit.metrics.corrected import Instrument, corrected_numbers, corrected_touch
from fiqkit.metrics.scored import Scored, group
from fiqkit.verdicts.calibration import calibrated

_SIDE = ("dataset", "run", "model", "mode", "retrieval")


def correct_rows(
    rows: Sequence[dict[str, Any]],
    scored: Sequence[Scored],
    rulings: Mapping[int, bool],
    calibrations: Path | None,
    seed: int,
) -> None:
    """Give each row its accuracy corrected for its grader, and AC@1 by touch for its judge, where either is known.

    A grader is held against all rulings on its verdicts; where there are none, its kept calibration counts.
    """
    instruments: dict[str, tuple[Instrument, str]] = {}
    for grader, episodes in group(scored, lambda e: e.grader).items():
        ruled = [e for e in episodes if e.counts and e.episode in rulings]
        if ruled:
            pairs = [(bool(e.is_intended), rulings[e.episode]) for e in ruled]
            instruments[grader] = (Instrument.of(pairs), "the rulings")
        elif calibrations and (kept := calibrated("grader", grader, calibrations)):
            instruments[grader] = kept
    sides = group(scored, lambda e: tuple(getattr(e, name) for name in (*_SIDE, "grader", "judge")))
    for row in rows:
        episodes = sides[tuple(row[name] for name in (*_SIDE, "grader", "judge"))]
        if row["grader"] in instruments:
            instrument, source = instruments[row["grader"]]
            numbers = corrected_numbers(episodes, rulings, instrument, seed=seed)
            row["corrected"] = numbers | {"held_against": source}
        if calibrations and (kept := calibrated("judge", row["judge"], calibrations)):
            numbers = corrected_touch(episodes, kept[0], seed=seed)
            if numbers["n"]:
                row["corrected_ac1_touch"] = numbers | {"held_against": kept[1]}

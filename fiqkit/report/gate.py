"""`--fail-under`: numbers that a run must reach, for whoever calls it from a script.

    accuracy=0.6                 every model, in every mode that has the number
    interact:accuracy=60%        in this mode alone

Reference policies frame a table and are not held to it. A row counts as far as it was played, and fails where no
episode of it was scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from fiqkit.agent.modes import mode as mode_of
from fiqkit.agent.reference import POLICIES
from fiqkit.errors import UserError
from fiqkit.metrics.measures import BITS, COUNTS, MEASURES
from fiqkit.report.numbers import Row

EXIT_CODE = 3
_OF_ORBITS = ("intent_resolved", "bits_resolved")
METRICS = (*MEASURES, *_OF_ORBITS)
_NO_SHARES = {*BITS, *COUNTS, "bits_resolved"}


@dataclass(frozen=True, slots=True)
class Gate:
    """The least that a metric may be, in one mode or in all."""

    metric: str
    least: float
    mode: str | None = None

    def failures(self, rows: Sequence[Row]) -> list[str]:
        """One line for each row of the main table that is below; one if no row has the number at all."""
        held = [r for r in rows if r["model"] not in POLICIES and self.mode in (None, r["mode"])]
        empty = [f"{row['model']} {row['mode']}: no episode was scored" for row in held if not row["n"]]
        told = [row for row in held if row["n"] and row.get(self.metric) is not None]
        if not told and not empty:
            return [f"no row has {self.metric}{f' in {self.mode}' if self.mode else ''}"]
        below = [row for row in told if row[self.metric] < self.least]
        return empty + [
            f"{row['model']} {row['mode']}: {self.metric} is {row[self.metric]:.4g}, below {self.least:g}"
            for row in below
        ]


def parse_gate(text: str) -> Gate:
    """The gate of "[MODE:]METRIC=VALUE"; a share may be written as 0.6 or 60%.

    Raises:
        UserError: not of this form; a metric or mode that there is not; a share above 1.
    """
    name, equals, written = text.partition("=")
    named, _, metric = name.rpartition(":")
    try:
        least = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        equals = ""
        least = 0.0
    if not equals or not isfinite(least):
        raise UserError(f"--fail-under {text!r} is not METRIC=VALUE, such as accuracy=0.6 or interact:accuracy=60%")
    if metric not in METRICS:
        raise UserError(f"--fail-under {text!r}: no metric {metric!r}; the metrics are {', '.join(METRICS)}")
    if metric not in _NO_SHARES and least > 1:
        raise UserError(f"--fail-under {text!r}: {metric} is a share; write {least / 100:g} or {least:g}%")
    return Gate(metric, least, mode_of(named).name if named else None)


def failures(gates: Iterable[Gate], rows: Sequence[Row]) -> list[str]:
    """What is below its gate, one line each."""
    return [line for gate in gates for line in gate.failures(rows)]

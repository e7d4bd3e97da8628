"""The bundled set's orbits by name: a published set stays what it is when miners, and the choice among orbits, change.

One orbit a line, in the set's order:

    200406-2023-07-02-equity <tab> temporal_scope/balance date <tab> train <tab> 200406 us-gaap:StockholdersEquity USD …

A report may give two orbits of one name, so the headline's first fact stands at the end. The split is the company's. Of
an orbit that is `corpus only` nothing is asked, so that the Chinese share is met; its passage is one of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fiqkit.construct.orbits import Orbit
from fiqkit.errors import UserError
from fiqkit.whole_file import write_text

PLAN = Path(__file__).parent / "plan.txt"
_SILENT = "corpus only"
# Rows of a vendor's table that mix versions of a year where no figure shows it, and a company under an old name.
_GROWTH, _MARGIN, _PROFIT = "profit-growth-rate", "net-margin", "profit"
LEFT_OUT = (
    f"000977-2024-12-31-{_GROWTH}",  # 28.65 where the report has 28.55
    f"002600-2024-12-31-{_GROWTH}",  # -14.42 where it has -14.50
    *(f"600188-2024-12-31-{name}" for name in (_GROWTH, _MARGIN, _PROFIT, "results-1")),  # as restated in 2025
    *(f"002601-{year}-12-31-{name}" for year in (2022, 2023, 2024) for name in (_GROWTH, _MARGIN, _PROFIT)),
)


class Planned(NamedTuple):
    """A line of the plan."""

    orbit: str
    miner: str
    part: str  # train, validation, test, or that nothing is asked of it
    fact: str

    @property
    def is_asked(self) -> bool:
        """Whether it has instances."""
        return self.part != _SILENT


def read_plan(path: Path = PLAN) -> list[Planned]:
    """The plan's lines."""
    return [Planned(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def splits_of(plan: Iterable[Planned]) -> dict[str, str]:
    """Company → its split."""
    return {line.orbit.partition("-")[0]: line.part for line in plan if line.is_asked}


def write_plan(path: Path, orbits: Iterable[Orbit], parts: Mapping[str, str]) -> None:
    """Pin orbits, in their order; `parts` has the split of each that is asked about, by its key."""
    rows = [(o.key, o.miner, parts.get(o.key, _SILENT), _fact(o)) for o in orbits]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def planned(orbits: Iterable[Orbit], plan: Sequence[Planned]) -> list[Orbit]:
    """The orbits of a plan, in its order.

    Raises:
        UserError: one is not among `orbits`; names the first.
    """
    found = _by_name(orbits)
    lacking = [line for line in plan if _name(line) not in found]
    if lacking:
        raise UserError(f"{PLAN.name}: {lacking[0].orbit} ({lacking[0].miner}) is not mined; mend the miner")
    return [found[_name(line)] for line in plan]


def still_mined(orbits: Iterable[Orbit], plan: Sequence[Planned]) -> list[Orbit]:
    """Those of a plan's orbits that are asked about and still among `orbits`, in its order."""
    found = _by_name(orbits)
    return [found[_name(line)] for line in plan if line.is_asked and _name(line) in found]


def _by_name(orbits: Iterable[Orbit]) -> dict[tuple[str, str, str], Orbit]:
    return {(orbit.key, orbit.miner, _fact(orbit)): orbit for orbit in orbits}


def _name(line: Planned) -> tuple[str, str, str]:
    return line.orbit, line.miner, line.fact


def _fact(orbit: Orbit) -> str:
    return orbit.alternatives[0].row.quantity.proof.facts[0]

"""The bundled set's orbits by name: a published set stays what it is when miners, and the choice among orbits, change.

One orbit a line, in the set's order:

    200406-2023-07-02-equity <tab> temporal_scope/balance date <tab> asked <tab> 200406 us-gaap:StockholdersEquity USD …

A report may give two orbits of one name, so the headline's first fact stands at the end. Of two orbits that were chosen
nothing is asked, so that the Chinese share is met; their passages are two more of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fiqkit.construct.orbits import Orbit
from fiqkit.errors import UserError
from fiqkit.whole_file import write_text

PLAN = Path(__file__).parent / "plan.txt"
_ASKED, _SILENT = "asked", "corpus only"


class Planned(NamedTuple):
    """A line of the plan."""

    orbit: str
    miner: str
    asked: str
    fact: str

    @property
    def is_asked(self) -> bool:
        """Whether it has instances."""
        return self.asked == _ASKED


def read_plan(path: Path = PLAN) -> list[Planned]:
    """The plan's lines."""
    return [Planned(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def write_plan(path: Path, orbits: Iterable[Orbit], asked: Iterable[Orbit]) -> None:
    """Pin orbits, in their order."""
    keys = {orbit.key for orbit in asked}
    rows = [(o.key, o.miner, _ASKED if o.key in keys else _SILENT, _fact(o)) for o in orbits]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def planned(orbits: Iterable[Orbit], plan: Sequence[Planned]) -> list[Orbit]:
    """The orbits of a plan, in its order.

    Raises:
        UserError: one is not among `orbits`; names the first.
    """
    found = {(orbit.key, orbit.miner, _fact(orbit)): orbit for orbit in orbits}
    lacking = [line for line in plan if (line.orbit, line.miner, line.fact) not in found]
    if lacking:
        raise UserError(f"{PLAN.name}: {lacking[0].orbit} ({lacking[0].miner}) is not mined; mend the miner")
    return [found[line.orbit, line.miner, line.fact] for line in plan]


def _fact(orbit: Orbit) -> str:
    return orbit.alternatives[0].row.quantity.proof.facts[0]

"""The bundled set's orbits by name: a published set stays what it is when miners, and the choice among orbits, change.

One orbit a line, in the set's order:

    320193-2017-12-30-profit <tab> temporal_scope/quarter or to date <tab> companyfacts:0000320193-18-000007 <tab> asked

The last column says whether questions are asked of it; of two that were chosen none is, so that the Chinese share is
met, and their passages are two more of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fiqkit.construct.facts import source_name
from fiqkit.construct.orbits import Orbit
from fiqkit.errors import UserError
from fiqkit.whole_file import write_text

PLAN = Path(__file__).parent / "plan.txt"
_ASKED, _SILENT = "asked", "corpus only"


class Planned(NamedTuple):
    """A line of the plan."""

    orbit: str
    miner: str
    source: str
    asked: str

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
    rows = [(o.key, o.miner, _source(o), _ASKED if o.key in keys else _SILENT) for o in orbits]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def planned(orbits: Sequence[Orbit], plan: Sequence[Planned]) -> list[Orbit]:
    """The orbits of a plan, in its order; of two of one name the first.

    Raises:
        UserError: one is not among `orbits`; names the first.
    """
    found: dict[tuple[str, str, str], Orbit] = {}
    for orbit in orbits:
        found.setdefault((orbit.key, orbit.miner, _source(orbit)), orbit)
    lacking = [line for line in plan if line[:3] not in found]
    if lacking:
        raise UserError(f"{PLAN.name}: {lacking[0].orbit} ({lacking[0].miner}) is not mined; mend the miner")
    return [found[line[:3]] for line in plan]


def _source(orbit: Orbit) -> str:
    return source_name(orbit.source.kind, orbit.source.accession)

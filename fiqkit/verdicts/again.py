"""Recorded answers graded, and recorded questions judged, once more: new verdicts beside those of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fiqkit.roles.assess import Assessor
from fiqkit.run.reassess import reassess
from fiqkit.run.watch import NOBODY, Watch
from fiqkit.run.work import Interrupted
from fiqkit.store.store import Store


@dataclass(frozen=True, slots=True)
class Given:
    """What came of giving verdicts.

    Attributes:
        verdicts: how many were given now, `unscored` of them none.
        kept: episodes on which the same giver's verdicts stand from an earlier call.
        complete: False when Ctrl-C ended it; what was given until then is stored.
    """

    verdicts: int
    unscored: int
    kept: int
    complete: bool


async def give_verdicts(
    store: Store,
    runs: Sequence[str],
    role: str,
    player: Any,
    *,
    again: bool = True,
    in_flight: int = 64,
    watch: Watch = NOBODY,
) -> Given:
    """Grade every committed answer of some runs, or judge every question; written as they come.

    Args:
        role: "grader" or "judge", which `player` is.
        again: give also those verdicts anew that this giver gave before; else go on where an earlier call stopped.
        in_flight: how many episodes to have in flight.
    """
    wanted = {"grader": store.to_grade, "judge": store.to_judge}[role]
    ids = [store.resolve(run)["run"] for run in runs]
    everything = [number for run in ids for number in wanted(run)]
    todo = everything if again else [number for run in ids for number in wanted(run, player.name)]
    kept = len(everything) - len(todo)
    watch.started(f"{role} {player.name}: {len(todo)} episodes", len(todo), kept)
    assessor = Assessor(**{role: player})
    tally: Counter[str] = Counter()
    try:
        await reassess(store, todo, assessor, in_flight, watch.progressed, watch.interrupted, tally)
        complete = True
    except Interrupted:
        complete = False
    return Given(tally["verdicts"], tally["unscored"], kept, complete)

"""Verdicts on recorded episodes, given as a run gives them: many at once, written as they come."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from fiqkit.records import Verdict
from fiqkit.roles.assess import Assessor
from fiqkit.run.work import Lane, Recorder, work_all
from fiqkit.store.store import Store

Given = list[tuple[int, Verdict]]


async def reassess(
    store: Store,
    numbers: Collection[int],
    assessor: Assessor,
    in_flight: int,
    on_written: Callable[[int], None] = lambda count: None,
    on_interrupt: Callable[[], None] = lambda: None,
) -> int:
    """Give the episodes of these numbers the assessor's verdicts, in the place of those that it gave before.

    Args:
        in_flight: how many episodes to have in flight.
        on_written: told how many episodes' verdicts were written.

    Returns:
        How many verdicts were written.

    Raises:
        Interrupted: Ctrl-C; the verdicts that were given until then are stored.
        UserError: the store can no longer be written.
    """
    written = 0

    def write(batch: list[Given]) -> None:
        nonlocal written
        verdicts = [pair for given in batch for pair in given]
        store.add_verdicts(verdicts)
        written += len(verdicts)

    async def begin(number: int) -> Sequence[Verdict]:
        episode = store.episode(number)
        return await assessor(episode, store.instance(episode.instance_id, episode.item))

    async def finish(number: int, verdicts: Sequence[Verdict]) -> Given:
        return [(number, verdict) for verdict in verdicts]

    await work_all([Lane(sorted(numbers), in_flight)], begin, finish, Recorder(write, on_written), on_interrupt)
    return written

"""Verdicts on recorded episodes, given as a run gives them: many at once, written as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from threading import Lock

from fiqkit.records import Outcome, QuestionVerdict, Verdict
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
    tally: Counter[str] | None = None,
) -> None:
    """Give the episodes of these numbers the assessor's verdicts, in the place of those that it gave before.

    Args:
        in_flight: how many episodes to have in flight.
        on_written: told how many episodes' verdicts were written.
        tally: counts "verdicts" that were written, and those of them that are "unscored".

    Raises:
        Interrupted: Ctrl-C; the verdicts that were given until then are stored.
        UserError: the store can no longer be written.
    """

    one_at_a_time = Lock()  # a query guards itself with a savepoint, and the recorder's thread must not begin inside it

    def write(batch: list[Given]) -> None:
        verdicts = [pair for given in batch for pair in given]
        with one_at_a_time:
            store.add_verdicts(verdicts)
        if tally is not None:
            tally.update(verdicts=len(verdicts), unscored=sum(_unscored(verdict) for _, verdict in verdicts))

    async def begin(number: int) -> Sequence[Verdict]:
        with one_at_a_time:
            episode = store.episode(number)
            instance = store.instance(episode.instance_id, episode.item)
        return await assessor(episode, instance)

    async def finish(number: int, verdicts: Sequence[Verdict]) -> Given:
        return [(number, verdict) for verdict in verdicts]

    await work_all([Lane(sorted(numbers), in_flight)], begin, finish, Recorder(write, on_written), on_interrupt)


def _unscored(verdict: Verdict) -> bool:
    said = verdict.judgement.central if isinstance(verdict, QuestionVerdict) else verdict.outcome
    return said == Outcome.UNSCORED

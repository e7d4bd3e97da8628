"""One episode for all siblings of an orbit, in modes in which nothing tells them apart (protocol, section 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from fiqkit.agent.reference import ReferenceAgent
from fiqkit.records import Episode
from fiqkit.run.jobs import Job

Play = Callable[[Job], Awaitable[Episode]]


class OncePerOrbit:
    """Plays a job, or takes the episode of a sibling whose agent was shown the very same.

    The record of such an episode names the sibling that was played (`played_as` in its `extra`) and has no tokens or
    seconds of its own, so that totals stay true; its answer is graded against its own reading.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._played: dict[tuple[str, str, str, int], asyncio.Task[Episode]] = {}

    async def __call__(self, job: Job) -> Episode:
        """The finished episode of a job."""
        orbit = job.instance.orbit
        # A reference policy holds the key of each instance, so siblings are not the same to it.
        if orbit is None or not job.mode.same_for_siblings or isinstance(job.agent, ReferenceAgent):
            return await self._play(job)
        key = (job.agent.name, job.mode.name, orbit, job.sample)
        if key in self._played:
            # Shielded: the result is shared, so one cancelled episode must not cancel it for the others.
            return _as_sibling(await asyncio.shield(self._played[key]), job)
        self._played[key] = asyncio.ensure_future(self._play(job))
        return await self._played[key]


def _as_sibling(episode: Episode, job: Job) -> Episode:
    turns = (replace(turn, prompt_tokens=0, output_tokens=0, seconds=0.0) for turn in episode.turns)
    return replace(
        episode,
        instance_id=job.instance.instance_id,
        item=job.item,
        turns=tuple(turns),
        seconds=0.0,
        extra={**episode.extra, "played_as": episode.instance_id},
    )

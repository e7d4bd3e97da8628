"""Plays the episodes of a run, those of all models and modes together."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from fiqkit.agent.environment import Environment
from fiqkit.agent.policy import play
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.records import Ending, Episode, Instance, Verdict
from fiqkit.run.jobs import Job
from fiqkit.run.siblings import OncePerOrbit
from fiqkit.run.work import Lane, Recorder, work_all

Assess = Callable[[Episode, Instance], Awaitable[Sequence[Verdict]]]
Finished = tuple[Episode, Sequence[Verdict]]


async def play_all(
    lanes: Sequence[Lane[Job]],
    world: World,
    assess: Assess,
    recorder: Recorder[Finished],
    on_interrupt: Callable[[], None] = lambda: None,
    *,
    once_an_orbit: bool = False,
) -> None:
    """Play every job and record it with its verdicts; see `work_all` for Ctrl-C.

    A fault of this kit's own costs the episode that it struck: it is recorded as `bug`, with the traceback.

    Args:
        once_an_orbit: siblings that an agent cannot tell apart share one episode.

    Raises:
        UserError: something that the user can mend is wrong with the run.
        Interrupted: Ctrl-C.
    """

    async def begin(job: Job) -> Episode:
        return await play(job.agent, Environment(job.instance, job.mode, world, job.sample, job.item))

    async def finish(job: Job, episode: Episode) -> Finished:
        try:
            return episode, await assess(episode, job.instance)
        except UserError:
            raise
        except Exception:
            return replace(episode, ending=Ending.BUG, error=traceback.format_exc().strip()), ()

    await work_all(lanes, OncePerOrbit(begin) if once_an_orbit else begin, finish, recorder, on_interrupt)

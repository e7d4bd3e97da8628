"""One evaluation, from its settings to its rows: `evaluate` is what `fiqkit run` calls."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Awaitable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from fiqkit.agent import own
from fiqkit.agent.modes import mode
from fiqkit.agent.prompts import prompt_texts
from fiqkit.bench_data import INSTANCES, SPLITS
from fiqkit.datasets import dataset_hash, read_instances
from fiqkit.errors import UserError
from fiqkit.measurable import refuse_unmeasurable
from fiqkit.metrics.table import main_rows
from fiqkit.models.cache import open_cache
from fiqkit.models.cards.cards import without_credentials
from fiqkit.models.template import RUN_DATE
from fiqkit.records import Ending, Instance
from fiqkit.roles.assess import Assessor
from fiqkit.roles.interfaces import Grader, Judge, Simulator
from fiqkit.run.draw import select
from fiqkit.run.jobs import jobs_left
from fiqkit.run.limits import Limits
from fiqkit.run.lineup import Lineup, override
from fiqkit.run.manifest import manifest
from fiqkit.run.players import Cast
from fiqkit.run.reassess import reassess
from fiqkit.run.scheduler import Finished, play_all
from fiqkit.run.stage import Sources, Stage
from fiqkit.run.watch import NOBODY, Seen, Watch
from fiqkit.run.work import Interrupted, Lane, Recorder
from fiqkit.store.comparable import check_same
from fiqkit.store.load import load_scored
from fiqkit.store.store import DEFAULT_STORE, Store

PAPER_V1 = "ff038831755d7933"  # `dataset_hash` of the release's version 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to run, on what, and where to keep it.

    Attributes:
        only: ids of the instances to play; none means all.
        split: of the bundled set; None plays all of it.
        language, orbits, limit, sample, stratify: which of them; see `draw.select`.
        instances, index: the user's own set; None takes the bundled one.
        passages: what the index must have been built from; None trusts the index. Own passages are read from it.
        prompts: folder of the user's own prompts for the agent.
        resume: a run id or "last".
        cache: file of completions to take from and add to.
        samples: how often each episode is played, every time with draws of its own.
        once_an_orbit: siblings of an orbit share one episode in modes in which nothing tells them apart.
        preset: the whole setting that the line-up stands for; "paper" says so where the data are others.
        check_determinism: measure how often equal requests differ, for the manifest.
        engine: settings for every model opened, such as {"threads": 1}.
        max_minutes, max_dollars: no episode is begun after so much; see `fiqkit.run.limits`.
    """

    lineup: Lineup = Lineup()
    store: Path = Path(DEFAULT_STORE)
    instances: Path | None = None
    passages: Path | None = None
    index: Path | None = None
    prompts: Path | None = None
    only: tuple[str, ...] = ()
    split: str | None = None
    language: str | None = None
    orbits: int | None = None
    limit: int | None = None
    sample: int | None = None
    stratify: tuple[str, ...] = ()
    seed: int = 0
    samples: int = 1
    once_an_orbit: bool = False
    resume: str | None = None
    preset: str | None = None
    cards: Path | None = None
    allow_self_grading: bool = False
    cache: Path | None = None
    check_determinism: bool = False
    engine: Mapping[str, Any] | None = None
    max_minutes: float | None = None
    max_dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A finished or interrupted run with the main table's rows.

    Attributes:
        engine_errors, bugs: episodes that ended in one; they are outside every rate, and `--resume` plays them again.
        unscored: verdicts of the run's own grader and judge that could not be had; `--resume` tries them again.
        left_out: agents whose model cannot run, and why.
        fault: of the first episode that ended in an engine error or a bug, its last line.
        seconds: from the first episode of this session to its last.
        stopped: the limit that was reached before all episodes were played.
    """

    run: str
    store: Path
    episodes: int
    complete: bool
    rows: list[dict[str, Any]]
    usage: list[dict[str, Any]]
    engine_errors: int = 0
    bugs: int = 0
    unscored: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None
    seconds: float = 0.0
    stopped: str | None = None


def named_ids(settings: Settings) -> tuple[str, ...]:
    """The ids that were named, one by one or as a split; none means all."""
    if settings.split is None:
        return settings.only
    if settings.instances is not None or settings.only:
        raise UserError("--split names a split of the bundled set; it goes with neither --instances nor --instance")
    ids: list[str] = json.loads(SPLITS.read_text("utf-8"))[settings.split]
    return tuple(ids)


async def evaluate(settings: Settings, watch: Watch = NOBODY) -> Result:
    """Run an evaluation to its end, or until Ctrl-C; everything that was finished is in the store either way.

    Raises:
        UserError: bad input anywhere, before the first episode; a store that can no longer be written.
    """
    modes = list(dict.fromkeys(map(mode, settings.lineup.modes)))
    prompt_texts(settings.prompts)  # these two are refused before anything is loaded
    own.check(settings.lineup.agent)
    everything = read_instances(settings.instances or INSTANCES)
    instances = select(
        everything,
        only=named_ids(settings),
        language=settings.language,
        orbits=settings.orbits,
        limit=settings.limit,
        sample=settings.sample,
        stratify=settings.stratify,
        seed=settings.seed,
    )
    refuse_unmeasurable(instances)
    sources = Sources(settings.instances, settings.passages, settings.index)
    stage = Stage(settings.lineup, modes, everything, instances, sources, settings.seed)
    if settings.preset == "paper" and dataset_hash(everything) != PAPER_V1:
        watch.said("preset paper: these instances are not the 173 of the release's version 1; name them: --instances")
    if stage.built:
        watch.said(f"{stage.built} own passages are not at hand and were built from the evidence spans")
    if settings.samples < 1:
        raise UserError(f"--samples is {settings.samples}; it must be at least 1")
    cast = Cast(settings.lineup, settings.seed, settings.cards, settings.engine or {}, settings.cache)
    cast.check_names()
    if not settings.allow_self_grading:
        cast.check_self_grading()
    if settings.max_dollars is not None:
        cast.check_priced()
    plan = cast.plan()
    for line in plan.lines():
        watch.said(line)
    plan.check()
    if settings.resume and settings.store.exists():
        with closing(Store(settings.store)) as there:
            _to_resume(there, settings)
    if settings.cache:
        open_cache(settings.cache).close()
    is_new = not settings.store.exists()
    store = Store(settings.store, create=True)
    RUN_DATE.set(_date(store, settings))
    try:
        for line in await cast.open():
            watch.said(line)
        agents = cast.agents(instances)
        grader, judge = cast.grader(), cast.judge()
        assessor = Assessor(grader, judge)
        world = stage.world(cast.simulator(), settings.prompts)
        players: dict[str, Simulator | Grader | Judge] = {
            "simulator": world.simulator,
            "grader": grader,
            "judge": judge,
        }
        probe = await cast.probe(agents, stage.opening(world))
        for line in dict.fromkeys(line for found in probe.values() for line in found["said"]):
            watch.said(line)
        left_out = [{"name": name, "left_out": reason} for name, reason in cast.left_out.items()]
        described = manifest(
            _comparable(settings, instances) | {"passages_shown": stage.shown()},
            [*(agent.describe() for agent in agents), *left_out],
            {role: player.describe() for role, player in players.items()},
            asdict(stage.index.manifest) if stage.index else None,
            settings.prompts,
        )
        probed = {"probe": probe, "date": str(RUN_DATE.get())}
        if settings.check_determinism:
            probed["flip_rate"] = await cast.flip_rates(agents, instances)
        for name, reason in cast.left_out.items():
            watch.said(f"{name} cannot run and is left out: {reason}")
        agents = [agent for agent in agents if agent.name not in cast.left_out]
        run = _begin(store, settings, instances, described)
        before = store.resolve(run)["manifest"].get("usage", [])
        store.add_to_manifest(
            run,
            probed
            | {"agents": described["agents"], "left_out": cast.left_out, "cards": cast.cards_in_full()}
            | {"arguments": _arguments(settings)},
        )
        left = jobs_left(agents, modes, instances, store.done(run), settings.samples)
        to_play = sum(map(len, left))
        all_jobs = len(agents) * len(modes) * len(instances) * settings.samples
        watch.started(f"run {run}: {to_play} episodes to play", to_play, all_jobs - to_play)

        spending = cast.spending(store, run, players, before)
        limits = Limits(settings.max_minutes, settings.max_dollars, spending.total)
        seen = Seen(watch)

        def write(finished: list[Finished]) -> None:
            store.write(run, finished)
            spending.add(episode for episode, _ in finished)
            seen.add(finished)

        async def work() -> None:
            unscored = {*store.to_grade(run, grader.name), *store.to_judge(run, judge.name)} if settings.resume else ()
            await reassess(store, unscored, assessor, cast.verdicts_in_flight(), on_interrupt=watch.interrupted)
            lanes = [
                Lane(limits.within(jobs), min(cast.in_flight(agent), len(jobs)))
                for agent, jobs in zip(agents, left, strict=True)
            ]
            recorder: Recorder[Finished] = Recorder(write, watch.progressed)
            once = settings.once_an_orbit
            await play_all(lanes, world, assessor, recorder, watch.interrupted, once_an_orbit=once)

        begun = time.monotonic()
        complete = await _to_its_end(store, run, work(), limits)
        usage = cast.usage(store, run, players, before)
        store.add_to_manifest(run, {"usage": usage})
        return Result(
            run,
            settings.store,
            store.count(run),
            complete,
            main_rows(load_scored(store, [run])),
            usage,
            engine_errors=store.count(run, Ending.ENGINE_ERROR),
            bugs=store.count(run, Ending.BUG),
            unscored=store.unscored(run, grader.name, judge.name),
            left_out=cast.left_out,
            fault=store.fault(run),
            seconds=time.monotonic() - begun,
            stopped=limits.reached,
        )
    finally:
        stage.close()
        await cast.close()
        nothing_recorded = is_new and not store.runs()
        store.close()
        if nothing_recorded:
            settings.store.unlink(missing_ok=True)


async def _to_its_end(store: Store, run: str, work: Awaitable[None], limits: Limits) -> bool:
    """Do the work of a run; its status says truthfully how it ended, whatever happens."""
    status = "partial"
    try:
        await work
        status = "partial" if limits.reached else "done"
    except Interrupted:
        pass
    finally:
        store.set_status(run, status)
    if status == "done":
        store.fill_search()
    return status == "done"


def _comparable(settings: Settings, instances: list[Instance]) -> dict[str, Any]:
    """What must be equal for a run to be resumed: everything that can change an episode, and the list of jobs."""
    lineup = asdict(settings.lineup)
    del lineup["in_flight"], lineup["notice"]
    lineup["agent"] = tuple(map(without_credentials, lineup["agent"]))
    lineup |= {role: without_credentials(lineup[role]) for role in ("simulator", "grader", "judge")}
    return {
        **lineup,
        "seed": settings.seed,
        "samples": settings.samples,
        "once_an_orbit": settings.once_an_orbit,
        "dataset": dataset_hash(instances),
        "instances": len(instances),
        "engine": dict(settings.engine or {}),
    }


_PATHS = ("instances", "passages", "index", "prompts", "cards", "cache")
_NOT_KEPT = ("lineup", "store", "resume", "check_determinism", "max_minutes", "max_dollars")


def _arguments(settings: Settings) -> dict[str, Any]:
    """What a run was started with, so that it can be resumed without repeating it; credentials are left out."""
    kept = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in _NOT_KEPT}
    paths = {name: str(kept[name].resolve()) for name in _PATHS if kept[name]}
    lineup = {name: value for name, value in asdict(settings.lineup).items() if value is not None}
    lineup["agent"] = list(map(without_credentials, lineup["agent"]))
    return {**kept, **dict.fromkeys(_PATHS), **paths, "lineup": lineup}


def remembered(store_file: Path, run: str) -> tuple[Lineup | None, dict[str, Any]]:
    """The line-up and the other arguments (fields of `Settings`) that a run was started with.

    None of either for a store without a run, and for a run that an earlier version played.

    Raises:
        UserError: no such run.
    """
    if not store_file.exists():
        return None, {}
    with closing(Store(store_file)) as store:
        kept = store.resolve(run)["manifest"].get("arguments") if store.runs() else None
    if not kept:
        return None, {}
    lineup = override(Lineup(), kept.pop("lineup"), f"{store_file}: run {run}")
    given = {name: value for name, value in kept.items() if value is not None}
    given |= {name: Path(given[name]) for name in _PATHS if name in given}
    return lineup, given | {name: tuple(given[name]) for name in ("only", "stratify")}


def _date(store: Store, settings: Settings) -> date:
    """The day that prompts may name: today, or that of the run which is resumed."""
    before = _to_resume(store, settings)
    if before and before["manifest"].get("date"):
        return date.fromisoformat(before["manifest"]["date"])
    return datetime.now(UTC).date()


def _to_resume(store: Store, settings: Settings) -> dict[str, Any] | None:
    """The run to go on with, if one is; a store without any run starts one."""
    return store.resolve(settings.resume) if settings.resume and store.runs() else None


def _begin(store: Store, settings: Settings, instances: list[Instance], described: Mapping[str, Any]) -> str:
    """A new run, or the one to resume."""
    before = _to_resume(store, settings)
    if before:
        run: str = before["run"]
        check_same(
            run,
            before["manifest"],
            described,
            asdict(Lineup()) | {"samples": 1, "once_an_orbit": False, "passages_shown": None},
        )
        store.drop_failed(run)
        store.set_status(run, "running")
        return run
    run = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    store.begin_run(run, "run", described["settings"]["dataset"], instances, described)
    return run

"""Recorded runs as logs that Inspect's viewer and readers open, one for each model and mode of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import isnan
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from fiqkit import __version__
from fiqkit.adapters.scores import MEASURED, values
from fiqkit.datasets import instance_row
from fiqkit.errors import need
from fiqkit.metrics.scored import Scored, group
from fiqkit.records import Episode, Instance
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store
from fiqkit.whole_file import written_whole

_SCORER = "fiqkit"


def write_logs(
    store: Store, runs: Sequence[str], folder: Path, grader: str | None = None, judge: str | None = None
) -> list[Path]:
    """Write RUN_MODEL_MODE.eval for every model and mode of some runs; returns the paths.

    A sample has the instance as metadata, the whole dialogue as messages, its scores as the task of
    `fiqkit.adapters.inspect` gives them, and every verdict in the score's metadata.

    Raises:
        UserError: the package inspect_ai is not installed, no such run or giver of verdicts, or a file that cannot be
            written.
    """
    need("writing a log of Inspect", "inspect", "inspect_ai")
    from inspect_ai.log import write_eval_log

    written = []
    for name in runs:
        run = store.resolve(name)
        instances = store.instances(run["dataset"])
        scored = load_scored(store, [name], grader, judge)
        for (model, mode, retrieval), side in group(scored, lambda e: (e.model, e.mode, e.retrieval)).items():
            log = _log(store, run, instances, side)
            parts = [name, model, mode, *([retrieval] if retrieval != "index" else [])]
            path = folder / (re.sub(r"[^\w.+-]+", "-", "_".join(parts)) + ".eval")
            with written_whole(path, [store.path]) as scratch:
                write_eval_log(log, str(scratch), format="eval")
            written.append(path)
    return written


def _log(store: Store, run: dict[str, Any], instances: dict[str, Instance], side: Sequence[Scored]) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalPlanStep, EvalSpec, EvalStats

    first = side[0]
    settings = run["manifest"].get("settings", {})
    samples = [_sample(store, e, instances[e.instance_id]) for e in side]
    ids = list(dict.fromkeys(e.instance_id for e in side))
    spec = EvalSpec(
        eval_id=f"{run['run']}-{first.model}-{first.mode}",
        run_id=run["run"],
        created=run["created"],
        task="fiqkit/clarify",
        task_id=f"{run['dataset']}-{first.mode}-{first.retrieval}",
        task_args={"mode": first.mode, "retrieval": first.retrieval, "seed": settings.get("seed", 0)},
        dataset=EvalDataset(name=run["dataset"], samples=len(ids), sample_ids=ids),
        model=first.model,
        config=EvalConfig(epochs=max(e.sample for e in side) + 1),
        packages={"fiqkit": __version__},
        metadata={"run": run["run"], "grader": first.grader, "judge": first.judge, "settings": settings},
    )
    return EvalLog(
        status="success" if run["status"] == "done" else "cancelled",
        eval=spec,
        plan=EvalPlan(steps=[EvalPlanStep(solver="fiqkit/played", params={"mode": first.mode})]),
        results=_results(side),
        stats=EvalStats(started_at=run["created"], completed_at=run["finished"] or run["created"]),
        samples=samples,
    )


def _results(side: Sequence[Scored]) -> Any:
    """The mean of every measure with its standard error, over the episodes that it is defined on."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    told = [values(e) for e in side]
    scores = []
    for name in MEASURED:
        found = [one[name] for one in told if not isnan(one[name])]
        if not found:
            continue
        spread = stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
        metrics = {"mean": mean(found), "stderr": spread}
        scores.append(
            EvalScore(
                name=name,
                scorer=_SCORER,
                scored_samples=len(found),
                unscored_samples=len(side) - len(found),
                metrics={key: EvalMetric(name=key, value=value) for key, value in metrics.items()},
            )
        )
    done = sum(not e.failed for e in side)
    return EvalResults(total_samples=len(side), completed_samples=done, scores=scores)


def _sample(store: Store, scored: Scored, instance: Instance) -> Any:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    episode = store.episode(scored.episode)
    verdicts = [dict(verdict) for verdict in store.verdicts(scored.episode)]
    whys = [v["why"] for v in verdicts if v["kind"] == "answer" and v["given_by"] == scored.grader]
    read, wrote = (sum(getattr(turn, name) for turn in episode.turns) for name in ("prompt_tokens", "output_tokens"))
    usage = ModelUsage(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    last = episode.turns[-1].text if episode.turns else ""
    output = ModelOutput.from_content(episode.model, last)
    output.usage = usage
    metadata = {"ending": str(episode.ending), "outcome": scored.outcome, "episode": scored.episode}
    score = Score(
        value=dict(values(scored)),
        answer=episode.answer,
        explanation=whys[0] if whys else None,
        metadata={**metadata, "verdicts": verdicts},
    )
    return EvalSample(
        id=instance.instance_id,
        epoch=episode.sample + 1,
        input=instance.question,
        target=instance.answer,
        messages=_messages(episode),
        output=output,
        scores={_SCORER: score} if not scored.failed else {},
        metadata={"instance": json.loads(json.dumps(instance_row(instance))), **metadata},
        model_usage={episode.model: usage},
        started_at=episode.started_at,
        completed_at=_end(episode),
        total_time=episode.seconds,
        error=EvalError(message=episode.error or "", traceback=episode.error or "", traceback_ansi=episode.error or "")
        if scored.failed
        else None,
    )


def _end(episode: Episode) -> str | None:
    if episode.started_at is None:
        return None
    return (datetime.fromisoformat(episode.started_at) + timedelta(seconds=episode.seconds)).isoformat()


def _messages(episode: Episode) -> list[Any]:
    """The dialogue as the agent had it: what it was given first, each reply of its own and what came back."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        Content,
        ContentReasoning,
        ContentText,
    )

    kinds: dict[str, Any] = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    found: list[Any] = [kinds[message["role"]](content=message["content"]) for message in episode.opening]
    for turn in episode.turns:
        text = turn.text or json.dumps({"action": turn.action, **turn.content}, ensure_ascii=False)
        thought: list[Content] = [ContentReasoning(reasoning=turn.reasoning)] if turn.reasoning else []
        found.append(ChatMessageAssistant(content=[*thought, ContentText(text=text)] if thought else text))
        if turn.observation:
            found.append(ChatMessageUser(content=turn.observation))
    return found

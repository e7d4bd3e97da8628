"""Recorded episodes for a person to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.records import Episode, Instance
from fiqkit.store.store import Store


@dataclass(frozen=True, slots=True)
class Recorded:
    """An episode with its instance and the verdicts on it, as rows of the store."""

    episode: Episode
    instance: Instance
    verdicts: Sequence[Mapping[str, Any]]

    def row(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self.episode) | {"instance": asdict(self.instance), "verdicts": [dict(v) for v in self.verdicts]}


def read_episodes(
    path: Path, run: str, instance_id: str, *, model: str | None = None, mode: str | None = None
) -> list[Recorded]:
    """The episodes of a run on one instance.

    Raises:
        UserError: no such run, or no such episode in it.
    """
    store = Store(path)
    found_run = store.resolve(run)
    instances = store.instances(found_run["dataset"])
    found = [
        Recorded(episode, instances[instance_id], store.verdicts(number))
        for number, episode in store.episodes(found_run["run"], instance_id)
        if model in (None, episode.model) and mode in (None, episode.mode)
    ]
    if not found:
        known = ", ".join(sorted(instances)[:3])
        wanted = " ".join(filter(None, (instance_id, model, mode)))
        raise UserError(f"{path}: run {found_run['run']} has no episode {wanted!r}; its instances are {known}, …")
    return found


def transcript(recorded: Recorded) -> str:
    """The whole episode as text: what was asked, each turn with what came back, and how it was graded."""
    episode, instance = recorded.episode, recorded.instance
    lines = [
        f"── {instance.instance_id} · {episode.model} · {episode.mode} · {', '.join(instance.categories)}",
        f"Q        {instance.question}",
        f"C        {instance.context}",
        f"intended {instance.answer}    default {instance.default_answer}",
        "",
    ]
    for number, turn in enumerate(episode.turns, 1):
        if turn.reasoning:
            lines.append(f"{number:2} thinks   {turn.reasoning}")
        said = next(iter(turn.content.values()), turn.text)
        lines.append(f"{number:2} {turn.action:8} {said}")
        if turn.content.get("asked_by"):  # its reply stands among what the agent was given first
            lines.append(f"   hears    {turn.content['reply']} (asked for the agent)")
        if turn.observation:
            lines.append(
                f"   {'refused' if turn.refused else 'sees':8} " + turn.observation.replace("\n", "\n            ")
            )
    lines.append("")
    confidence = "" if episode.confidence is None else f" at confidence {episode.confidence:g}"
    lines.append(f"ending   {episode.ending}{confidence}" + (f" ({episode.error})" if episode.error else ""))
    lines += [_verdict(verdict) for verdict in recorded.verdicts]
    return "\n".join(lines)


def _verdict(verdict: Mapping[str, Any]) -> str:
    if verdict["kind"] == "question":
        return f"question {verdict['turn'] + 1}: {verdict['given_by']} says {verdict['central']} ({verdict['why']})"
    return f"grade    {verdict['given_by']} says {verdict['outcome']} ({verdict['why']})"

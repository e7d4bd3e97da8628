"""Recorded episodes for a person to read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.records import Episode, Instance
from fiqkit.store.browse import Wanted, find
from fiqkit.store.store import Store


@dataclass(frozen=True, slots=True)
class Recorded:
    """An episode with its instance and the verdicts on it, as rows of the store."""

    number: int
    run: str
    episode: Episode
    instance: Instance
    verdicts: Sequence[Mapping[str, Any]]

    def row(self) -> dict[str, Any]:
        """JSON-ready."""
        place = {"episode": self.number, "run": self.run}
        return (
            place
            | asdict(self.episode)
            | {"instance": asdict(self.instance), "verdicts": [dict(v) for v in self.verdicts]}
        )


def read_episodes(path: Path, run: str, wanted: Wanted, limit: int | None = None) -> list[Recorded]:
    """The episodes of a run that are wanted, in full.

    Raises:
        UserError: no such run, or no such episode in it.
    """
    store = Store(path)
    found = [read_numbered(store, row["episode"]) for row in find(store, run, wanted, limit)]
    if not found:
        found_run = store.resolve(run)
        known = ", ".join(sorted(store.instances(found_run["dataset"]))[:3])
        asked = ", ".join(f"{name} {value}" for name, value in asdict(wanted).items() if value)
        raise UserError(f"{path}: run {found_run['run']} has no episode with {asked}; its instances are {known}, …")
    return found


def read_numbered(store: Store, number: int) -> Recorded:
    """One episode by its number.

    Raises:
        UserError: no such episode.
    """
    episode = store.episode(number)
    [run] = store.conn.execute("SELECT run FROM episodes WHERE episode=?", (number,)).fetchone()
    return Recorded(number, run, episode, store.instance(episode.instance_id, episode.item), store.verdicts(number))


def visible(text: str) -> str:
    """Text with every control character but the line's end as a picture of itself, so that none acts on a terminal."""
    return "".join(_picture(char) if _controls(char) else char for char in text)


def _controls(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")


def _picture(char: str) -> str:
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else f"<U+{code:04X}>"


def transcript(recorded: Recorded) -> str:
    """The whole episode as text: what was asked, each turn with what came back, and how it was graded."""
    episode, instance = recorded.episode, recorded.instance
    lines = [
        f"── episode {recorded.number} · {instance.instance_id} · {episode.model} · {episode.mode} · "
        + ", ".join(instance.categories),
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
    return visible("\n".join(lines))


def _verdict(verdict: Mapping[str, Any]) -> str:
    if verdict["kind"] == "question":
        return f"question {verdict['turn'] + 1}: {verdict['given_by']} says {verdict['central']} ({verdict['why']})"
    return f"grade    {verdict['given_by']} says {verdict['outcome']} ({verdict['why']})"

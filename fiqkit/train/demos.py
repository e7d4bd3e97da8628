"""Demonstrations: episodes of a teacher, filtered, as chats to imitate and as episodes marked good or bad.

One line a demonstration:

    {"instance_id": "meta-1", "sample": 0, "mode": "interact", "messages": [{"role": "system", …}, …],
     "right": true, "asked": true, "on_category": true, "strict": true, "kept": true}
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import mode
from fiqkit.agent.policy import Agent, play
from fiqkit.agent.world import Budget, World, spans_by_orbit
from fiqkit.datasets import read_jsonl, record_hash
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Instance, Outcome, Passage, QuestionVerdict
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.interfaces import Simulator
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.train.recipe import Rollout

FILTERS = ("strict", "asked")
_FIGURE = re.compile(r" \| .*\d")  # a line of figures, not the heading over them


@dataclass(frozen=True, slots=True)
class Demo:
    """One episode of a teacher as a chat.

    Attributes:
        right: the answer was the intended one.
        asked: at least one question was asked.
        on_category: the first question raised a true category.
    """

    instance_id: str
    item: str
    sample: int
    mode: str
    messages: tuple[Mapping[str, str], ...]
    right: bool
    asked: bool
    on_category: bool

    @property
    def strict(self) -> bool:
        """The release's filter: right, and no question or a first one on category."""
        return self.right and (not self.asked or self.on_category)

    @property
    def clarified(self) -> bool:
        """This kit's filter `asked`: right after a first question on category."""
        return self.right and self.asked and self.on_category

    def passes(self, filter_name: str) -> bool:
        """Whether a filter keeps it."""
        return self.strict if filter_name == "strict" else self.clarified

    def row(self, filter_name: str) -> dict[str, Any]:
        """The line of the file."""
        return {**asdict(self), "strict": self.strict, "clarified": self.clarified, "kept": self.passes(filter_name)}


def world_for(
    instances: Sequence[Instance],
    passages: Iterable[Passage],
    rollout: Rollout,
    *,
    simulator: Simulator | None = None,
    seed: int = 0,
) -> World:
    """The world in which a recipe's demonstrations and rollouts are played: own passages, a user by rules."""
    return World(
        simulator=simulator or RulesSimulator(),
        own_passage=own_passages(instances, passages, rollout.passage_lines),
        budget=Budget(rollout.turns, rollout.questions),
        retrieval=rollout.retrieval,
        orbits=spans_by_orbit(instances),
        result_tokens=rollout.result_tokens,
        seed=seed,
    )


def own_passages(
    instances: Sequence[Instance], passages: Iterable[Passage], lines: int
) -> Callable[[Instance], Passage]:
    """Each instance's own passage, shortened to so many lines of figures; siblings have the same one.

    The function that is returned raises UserError for an instance whose passage is not there.
    """
    by_id = {passage.passage_id: passage for passage in passages}
    orbits = spans_by_orbit(instances)

    def own(instance: Instance) -> Passage:
        found = by_id.get(instance.passage_id or instance.instance_id)
        if found is None:
            raise UserError(f"{instance.instance_id}: its passage {instance.passage_id!r} is not among the passages")
        alone = (instance.intended_evidence_span, instance.default_evidence_span)
        return replace(found, text=shortened(found.text, orbits.get(instance.orbit or "", alone), lines))

    return own


def shortened(text: str, spans: Sequence[str], lines: int) -> str:
    """A passage with its heading, the lines of `spans` and the first others, `lines` lines of figures in all.

    What a passage of siblings keeps is the same for all of them. A passage without lines of figures stays whole.

    >>> shortened("Line | Amount\\nRevenue | $9\\nTax | $2\\nTax, paid | $1", ["Tax | $2", "Tax, paid | $1"], 2)
    'Line | Amount\\nTax | $2\\nTax, paid | $1'
    """
    rows = text.split("\n")
    figures = [n for n, row in enumerate(rows) if _FIGURE.search(row)]
    if not lines or len(figures) <= lines:
        return text
    wanted = [n for n in figures if rows[n] in spans]
    wanted += [n for n in figures if rows[n] not in spans][: max(0, lines - len(wanted))]
    dropped = set(figures) - set(wanted)
    return "\n".join(row for n, row in enumerate(rows) if n not in dropped)


async def demonstrate(
    teacher: Agent,
    instances: Sequence[Instance],
    world: World,
    rollout: Rollout,
    assessor: Assessor | None = None,
    progress: Callable[[int, int], None] = lambda done, todo: None,
) -> list[Demo]:
    """Let a teacher play every instance `rollout.samples` times. Episodes that an engine lost are left out.

    Raises:
        UserError: not one episode could be played; says why the last one could not.
    """
    judged_by = assessor or Assessor(RulesGrader(), RulesJudge())
    chosen = mode(rollout.mode)
    jobs = [(instance, sample) for instance in instances for sample in range(rollout.samples)]
    done = 0
    room = asyncio.Semaphore(64)

    async def one(instance: Instance, sample: int) -> tuple[Episode, Demo | None]:
        nonlocal done
        async with room:
            environment = Environment(instance, chosen, world, sample)
            episode = await play(teacher, environment)
            demo = None
            if episode.ending not in (Ending.ENGINE_ERROR, Ending.BUG):
                demo = await _judged(episode, instance, environment.messages, judged_by)
        done += 1
        progress(done, len(jobs))
        return episode, demo

    played = await asyncio.gather(*(one(*job) for job in jobs))
    found = [demo for _, demo in played if demo is not None]
    if not found:
        last = next((episode.error for episode, _ in reversed(played) if episode.error), "there were no instances")
        raise UserError(f"{teacher.name} played no episode: {str(last).splitlines()[-1]}")
    return found


async def _judged(
    episode: Episode, instance: Instance, messages: Sequence[Mapping[str, str]], assessor: Assessor
) -> Demo | None:
    verdicts = await assessor(episode, instance)
    grade = next((v for v in verdicts if isinstance(v, AnswerVerdict)), None)
    questions = [v.judgement for v in verdicts if isinstance(v, QuestionVerdict)]
    unscored = str(Outcome.UNSCORED)
    if (grade and grade.outcome == unscored) or any(q.central == unscored for q in questions):
        return None
    first = set(questions[0].touched or ()) if questions else set()
    return Demo(
        instance_id=instance.instance_id,
        item=record_hash(instance),
        sample=episode.sample,
        mode=episode.mode,
        messages=tuple(messages),
        right=grade is not None and grade.outcome == str(Outcome.INTENDED),
        asked=bool(questions),
        on_category=bool(first & set(instance.categories)),
    )


def read_demos(path: Path) -> Iterator[Demo]:
    """The demonstrations of a file.

    Raises:
        UserError: a line that is none; names the file and the line.
    """
    names = Demo.__dataclass_fields__
    for number, row in read_jsonl(path):
        messages = row.get("messages")
        sound = isinstance(messages, list) and all(
            isinstance(m, dict) and {"role", "content"} <= set(m) for m in messages
        )
        if not sound or not messages or set(names) - set(row):
            missing = ", ".join(sorted(set(names) - set(row))) or "messages with role and content"
            raise UserError(
                f"{path}:{number}: not a demonstration, {missing} missing; make them with `fiqkit train demos`"
            )
        known: dict[str, Any] = {name: row[name] for name in names} | {"messages": tuple(messages)}
        yield Demo(**known)


def yields(demos: Sequence[Demo]) -> dict[str, float]:
    """Share of the demonstrations that each filter keeps, and what they are made of."""
    n = len(demos)
    counts = {name: sum(getattr(demo, name) for demo in demos) for name in ("right", "asked", "on_category")}
    counts |= {f"filter_{name}": sum(demo.passes(name) for demo in demos) for name in FILTERS}
    return {"n": n} | {name: count / n for name, count in counts.items()}

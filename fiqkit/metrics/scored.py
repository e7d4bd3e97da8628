"""The one input of every metric: an episode reduced to what a number can depend on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fiqkit.records import Ending, Judgement
from fiqkit.taxonomy import mode_rank

Key = TypeVar("Key", bound=Hashable)

ENUMERATE = "enumerate"  # the mode that is graded by whether the golds are among the values it lists


@dataclass(frozen=True, slots=True)
class Scored:
    """One episode with a grader's and a judge's verdicts on it.

    Attributes:
        grader, judge: who gave the verdicts that this record carries.
        cluster: company key, under which episodes are dependent.
        outcome: one of `fiqkit.records.Outcome`; None where only the two booleans below are known, or nothing.
        is_intended, is_default: the answer equals A, or A_d; None when that is not known. In the mode `enumerate`
            they say whether the value is among those listed.
        confidence: stated confidence, 0 to 100, or None.
        episode: the episode's number in its store; 0 where there is none.
        n_asks: questions that reached the user, judged or not.
        questions: the judge's verdicts on them, in the order asked.
        asks, replies: what was asked and what the user replied, in the order asked; empty where no text was kept.
        item: hash of the instance's record; with `instance_id` it names the item, and nothing pairs by id alone.
        dataset: hash of the set that the run worked on.
        sample: which of the repeated draws, from 0.
        retrieval: what a search returned (`taxonomy.RETRIEVALS`).
        named_golds: which of "intended", "default" the answer names, committed or not; None where the grader kept none.
        golds: A and A_d as written in the filing. value: the committed value as written in the answer.
        orbit, siblings: the orbit and how many siblings the data set has of it; None and 1 outside orbits.
        headline_intended: a sibling whose intended reading is the headline; outside the paper subset.
    """

    run: str
    model: str
    mode: str
    grader: str
    judge: str
    instance_id: str
    language: str
    categories: tuple[str, ...]
    h0: float
    cluster: str
    ending: Ending
    outcome: str | None
    is_intended: bool | None
    is_default: bool | None
    confidence: float | None = None
    n_asks: int = 0
    n_turns: int = 0
    n_searches: int = 0
    n_refused: int = 0
    questions: tuple[Judgement, ...] = ()
    flags: tuple[str, ...] = ()
    episode: int = 0
    asks: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    item: str = ""
    dataset: str = ""
    sample: int = 0
    retrieval: str = "index"
    named_golds: tuple[str, ...] | None = None
    golds: tuple[str, str] = ("", "")
    value: str | None = None
    orbit: str | None = None
    siblings: int = 1
    headline_intended: bool = False
    filing_date: str | None = None

    @property
    def record(self) -> tuple[str, str]:
        """The item: instance and the hash of its record. Equal ids of two data sets may be two items."""
        return self.instance_id, self.item

    @property
    def place(self) -> tuple[Any, ...]:
        """Where the episode stands in every sorted list, so that no number depends on the order in which work ended."""
        side = (natural(self.model), mode_rank(self.mode), natural(self.run), self.retrieval, self.grader, self.judge)
        return (*side, natural(self.instance_id), self.item, self.sample)

    @property
    def primary(self) -> str:
        """The primary category."""
        return self.categories[0]

    @property
    def failed(self) -> bool:
        """The engine or the kit itself failed: the episode says nothing about the agent."""
        return self.ending in (Ending.ENGINE_ERROR, Ending.BUG)

    @property
    def counts(self) -> bool:
        """Whether the episode is in the denominators: neither an engine error, a bug nor unscored."""
        return not self.failed and self.is_intended is not None

    @property
    def asked(self) -> bool:
        """Whether at least one question reached the user."""
        return self.n_asks > 0

    @property
    def dise_plus(self) -> float:
        """DisE+: bits resolved a question, 0 when wrong; a right answer without a question counts as one question."""
        return self.h0 / max(self.n_asks, 1) if self.is_intended else 0.0

    def on_category(self, question: Judgement, form: str = "touch") -> bool | None:
        """Whether a question targets a true category of this instance in one form; None where that is not known."""
        targets = question.targets(form)
        return None if targets is None else not set(targets).isdisjoint(self.categories)


def group(episodes: Iterable[Scored], key: Callable[[Scored], Key]) -> dict[Key, list[Scored]]:
    """Episodes by a key, in the order of first appearance."""
    groups: dict[Key, list[Scored]] = defaultdict(list)
    for episode in episodes:
        groups[key(episode)].append(episode)
    return dict(groups)


def natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """Sort key under which "8b" stands before "14b": numbers by size, the rest by letter."""
    parts = re.findall(r"\d+(?:\.\d+)?|\D+", name)
    return tuple((0, float(part), "") if part[0].isdigit() else (1, 0.0, part) for part in parts)

"""The stage of a run: the index or the passages behind a search, and the world that every episode is played in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fiqkit.agent.modes import Mode
from fiqkit.agent.prompts import Prompts
from fiqkit.agent.world import INDEX, OWN, OWN_AND_SPANS, Budget, World, spans_by_orbit
from fiqkit.bench_data import INDEX as BUNDLED_INDEX
from fiqkit.bench_data import PASSAGES as BUNDLED_PASSAGES
from fiqkit.datasets import read_passages
from fiqkit.errors import UserError
from fiqkit.index import Index, missing_passages
from fiqkit.index.service import Searcher
from fiqkit.models.engine import Message
from fiqkit.records import Instance, Passage
from fiqkit.roles.interfaces import Simulator
from fiqkit.run.lineup import Lineup


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a run's passages come from. The bundled ones serve the bundled instances alone.

    Attributes:
        instances: the user's own file; None takes the bundled set.
        passages: what the index must have been built from, or what own passages are read from.
        index: folder of the user's own index.
    """

    instances: Path | None = None
    passages: Path | None = None
    index: Path | None = None


class Stage:
    """Index, passages and budgets of a run, opened and checked before anything is loaded.

    Attributes:
        index: the index that modes search, or None.
        built: how many own passages had to be made from evidence spans.
    """

    def __init__(
        self,
        lineup: Lineup,
        modes: Sequence[Mode],
        everything: Sequence[Instance],
        instances: Sequence[Instance],
        sources: Sources,
        seed: int,
    ) -> None:
        """Open what the modes need.

        Args:
            everything: the whole set, out of which `instances` are played: siblings of an orbit are taken from it.

        Raises:
            UserError: a mode that fixes another retrieval, no index or no passage for what is wanted, a stale index.
        """
        self._lineup = lineup
        self._mode, self._instance = next(iter(modes), None), next(iter(instances), None)
        self._everything = everything
        self._instances = instances
        self._orbits = spans_by_orbit(everything)
        self._seed = seed
        self._searcher: Searcher | None = None
        self.built = 0
        retrievals = {self._retrieval(m) for m in modes if m.search}
        searching = next((m.name for m in modes if m.search), "")
        self.index = _open_index(sources, searching) if INDEX in retrievals else None
        wants_own = bool(retrievals & {OWN, OWN_AND_SPANS})
        self._own = self._own_passages(sources, instances) if wants_own else None
        if sources.index and self.index is None and not wants_own:
            Index.open(sources.index)  # what is named is looked at, also where no mode needs it
        if sources.passages and self.index is None and not wants_own:
            read_passages(sources.passages)

    def opening(self, world: World) -> list[Message]:
        """The messages with which an episode begins, but for what an oracle mode hands over."""
        if self._mode is None or self._instance is None:
            return []
        prompts = Prompts.of(world.prompt_language or self._instance.language, world.prompts)
        return [
            {"role": "system", "content": prompts.system(self._mode, post_hoc=world.confidence == "post-hoc")},
            {"role": "user", "content": prompts.opening(self._instance.question, [])},
        ]

    def _retrieval(self, mode: Mode) -> str:
        asked, fixed = self._lineup.retrieval, mode.retrieval
        if asked and fixed and asked != fixed:
            raise UserError(
                f"mode {mode.name!r} is interact with --retrieval {fixed}; it cannot be run with --retrieval {asked}"
            )
        return fixed or asked or INDEX

    def _own_passages(self, sources: Sources, instances: Sequence[Instance]) -> Callable[[Instance], Passage]:
        """Each instance's own passage: out of the index where there is one, else out of the file."""
        folder = sources.index or (None if sources.instances or self.index is None else BUNDLED_INDEX)
        index = self.index or (Index.open(folder) if folder else None)
        if index is not None:
            for instance in instances:
                index.passage(_passage_id(instance))
            return lambda instance: index.passage(_passage_id(instance))
        file = sources.passages or (None if sources.instances else BUNDLED_PASSAGES)
        if file is None:
            raise UserError(
                f"a search is to return own passages, and there are none for {sources.instances}; name them with "
                "--passages or --index"
            )
        found = read_passages(file)
        made = missing_passages(self._everything, found, self._seed)
        self.built = len(made)
        by_id = {passage.passage_id: passage for passage in (*found, *made)}
        return lambda instance: by_id[_passage_id(instance)]

    def world(self, simulator: Simulator, prompts: Path | None = None) -> World:
        """The world of every episode of the run."""
        lineup = self._lineup
        if self.index is not None and self._searcher is None:
            self._searcher = Searcher(self.index, lineup.k)
        return World(
            simulator=simulator,
            search=self._searcher,
            own_passage=self._own,
            budget=Budget(lineup.turns, lineup.questions),
            retrieval=lineup.retrieval or INDEX,
            passage_chars=lineup.passage_chars,
            orbits=self._orbits,
            result_tokens=lineup.result_tokens,
            confidence=lineup.confidence,
            prompt_language=lineup.prompt_language,
            prompts=prompts,
            seed=self._seed,
        )

    def shown(self) -> str | None:
        """Hash of what agents may be shown beside the instances: own passages, and the spans of their siblings.

        The index has a manifest of its own. None where there is nothing of the kind.
        """
        passages = [self._own(instance).text for instance in self._instances] if self._own else []
        spans = [(i.orbit, self._orbits[i.orbit]) for i in self._instances if i.orbit is not None]
        if not passages and not spans:
            return None
        return hashlib.sha256(json.dumps([passages, spans], ensure_ascii=False).encode()).hexdigest()[:16]

    def close(self) -> None:
        """Stop searching. Safe to call twice."""
        if self._searcher is not None:
            self._searcher.close()


def _open_index(sources: Sources, mode: str) -> Index:
    """The index that is searched: the user's own, or the bundled one for the bundled instances."""
    folder = sources.index or (None if sources.instances else BUNDLED_INDEX)
    if folder is None:
        raise UserError(
            f"mode {mode!r} searches, and there is no index for {sources.instances}; build one with "
            "`fiqkit index build` and name it with --index, or take --retrieval own"
        )
    return Index.open(folder, passages=read_passages(sources.passages) if sources.passages else None)


def _passage_id(instance: Instance) -> str:
    return instance.passage_id or instance.instance_id

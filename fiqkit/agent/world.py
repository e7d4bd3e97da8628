"""What is the same for all episodes of a run: the user, the budgets, and what a search returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fiqkit.agent.modes import Mode
from fiqkit.errors import UserError
from fiqkit.records import Instance, Passage
from fiqkit.roles.interfaces import Simulator
from fiqkit.taxonomy import RETRIEVALS

Search = Callable[[str, str], Awaitable[list[str]]]  # (query, language) → texts of the hits, best first

# What a search returns: hits of the index; the instance's own passage whatever the query, as in the paper; that passage
# and the evidence spans; or the intended span alone, the leak of the release's training environment, kept as a control.
INDEX, OWN, OWN_AND_SPANS, INTENDED_SPAN = RETRIEVALS
CONFIDENCES = ("action", "post-hoc")  # part of the answer, or asked for in a call of its own as the release did


@dataclass(frozen=True, slots=True)
class Budget:
    """What one episode may use. A turn is one completion of the agent, a refused action or a repair included."""

    turns: int = 12
    questions: int = 6


@dataclass(frozen=True, slots=True)
class World:
    """What is the same for all episodes of a run.

    Attributes:
        search: the index; None where nothing searches it.
        own_passage: instance → its passage, where a search returns it.
        retrieval: one of `RETRIEVALS`.
        passage_chars: an own passage is cut after so many characters (the paper: 4,000); None leaves it whole.
        orbits: orbit → the evidence spans of all its readings; see `spans_by_orbit`.
        result_tokens: a search result holds whole hits up to about this many tokens (at least one hit).
        confidence: one of `CONFIDENCES`.
        prompt_language: language of the prompts; None takes each instance's.
        prompts: folder of the user's own prompts, which stand before the bundled ones.
    """

    simulator: Simulator
    search: Search | None = None
    own_passage: Callable[[Instance], Passage] | None = None
    budget: Budget = Budget()
    retrieval: str = INDEX
    passage_chars: int | None = None
    orbits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    result_tokens: int = 1000
    confidence: str = "action"
    prompt_language: str | None = None
    prompts: Path | None = None
    seed: int = 0

    def retrieval_of(self, mode: Mode) -> str:
        """What a search returns in a mode."""
        return mode.retrieval or self.retrieval

    def check(self, mode: Mode, instance: Instance) -> None:
        """Refuse an episode that could not be played as its mode says.

        Raises:
            UserError: the mode searches and there is no index or no passage, or it shows the spans of an orbit whose
                other readings are not at hand.
        """
        retrieval = self.retrieval_of(mode)
        if mode.search and retrieval == INDEX and self.search is None:
            raise UserError(f"mode {mode.name!r} searches, and there is no index; build one and name it with --index")
        if mode.search and retrieval in (OWN, OWN_AND_SPANS) and self.own_passage is None:
            raise UserError(
                f"retrieval {retrieval!r} (mode {mode.name!r}) returns own passages, and there are none; "
                "name them with --passages or --index"
            )
        shows_spans = "spans" in mode.gives or (mode.search and retrieval == OWN_AND_SPANS)
        if shows_spans and instance.orbit is not None and instance.orbit not in self.orbits:
            raise UserError(
                f"instance {instance.instance_id!r}: the other readings of its orbit {instance.orbit!r} are needed in "
                f"mode {mode.name!r}, so that what is shown does not tell them apart; give the whole file"
            )

    async def found(self, query: str, instance: Instance, mode: Mode) -> list[str]:
        """The texts that a search returns: as many hits as fit in `result_tokens`, and at least one if there is one."""
        shown: list[str] = []
        room = self.result_tokens
        for hit in await self._hits(query, instance, self.retrieval_of(mode)):
            room -= _rough_tokens(hit)
            if shown and room < 0:
                break
            shown.append(hit)
        return shown

    async def _hits(self, query: str, instance: Instance, retrieval: str) -> list[str]:
        if retrieval == INTENDED_SPAN:
            return [instance.intended_evidence_span]
        if retrieval == INDEX:
            assert self.search is not None  # as `check` has it
            return await self.search(query, instance.language)
        assert self.own_passage is not None
        text = self.own_passage(instance).text[: self.passage_chars]
        return [f"{text}\n{self.spans(instance)}" if retrieval == OWN_AND_SPANS else text]

    def spans(self, instance: Instance) -> str:
        """The evidence spans of an instance, or of every reading of its orbit.

        Their order is drawn from the seed and from what the siblings share, so that position tells nothing.
        """
        if instance.orbit is None:
            key, spans = instance.instance_id, [instance.intended_evidence_span, instance.default_evidence_span]
        else:
            key, spans = instance.orbit, list(self.orbits[instance.orbit])
        Random(f"{self.seed}:{key}").shuffle(spans)
        head = " · ".join(v for v in (instance.company, instance.filing_type) if v)
        return "\n".join([head, *spans] if head else spans)


def spans_by_orbit(instances: Iterable[Instance]) -> dict[str, tuple[str, ...]]:
    """Orbit → the evidence spans of all its readings, each once, sorted. Give it all siblings, not a sample."""
    found: dict[str, set[str]] = {}
    for instance in instances:
        if instance.orbit is not None:
            spans = found.setdefault(instance.orbit, set())
            spans |= {instance.intended_evidence_span, instance.default_evidence_span}
    return {orbit: tuple(sorted(spans)) for orbit, spans in found.items()}


def _rough_tokens(text: str) -> int:
    """About how many tokens a text has, without a tokenizer: one for a CJK character, one for four others."""
    wide = (len(text.encode()) - len(text)) // 2  # a CJK character is three bytes
    return wide + (len(text) - wide) // 4

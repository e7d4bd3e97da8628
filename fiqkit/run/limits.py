"""When a run is to start no more episodes: so many minutes, so many dollars."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Usage
from fiqkit.records import Episode
from fiqkit.store.usage import dollars

Job = TypeVar("Job")


@dataclass(slots=True)
class Spending:
    """What a run has cost, told without asking the store.

    Attributes:
        before: US dollars when this session began.
        agents: the card of each agent by the agent's name.
        roles: what each role that a model plays has used in this session, with its card.
    """

    before: float
    agents: Mapping[str, Card]
    roles: Sequence[tuple[Usage, Card]]
    _of_agents: float = 0.0

    def add(self, episodes: Iterable[Episode]) -> None:
        """Count finished episodes in."""
        for episode in episodes:
            for turn in episode.turns:
                used = {"prompt_tokens": turn.prompt_tokens, "output_tokens": turn.output_tokens}
                self._of_agents += dollars(used, self.agents.get(episode.model)) or 0.0

    def total(self) -> float:
        """US dollars until now."""
        return self.before + self._of_agents + sum(dollars(asdict(usage), card) or 0.0 for usage, card in self.roles)


@dataclass(slots=True)
class Limits:
    """Ends the jobs of a run once it has cost so much, or taken so long; what is in flight then is finished.

    Attributes:
        minutes: of this session. dollars: of the run, over all its sessions. None sets no limit.
        spent: US dollars until now.
        reached: what ended the jobs, in words; None while nothing has.
    """

    minutes: float | None
    dollars: float | None
    spent: Callable[[], float]
    reached: str | None = None
    _begun: float = field(default_factory=time.monotonic)

    def within(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """The jobs, as long as no limit is reached."""
        for job in jobs:
            self._look()
            if self.reached:
                return
            yield job

    def _look(self) -> None:
        if self.minutes is not None and time.monotonic() - self._begun >= 60 * self.minutes:
            self.reached = f"--max-minutes {self.minutes:g}"
        elif self.dollars is not None and (spent := self.spent()) >= self.dollars:
            self.reached = f"--max-dollars {self.dollars:g} (${spent:.2f} were spent)"

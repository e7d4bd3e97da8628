"""What whoever watches long work is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fiqkit.records import Ending, Episode, Verdict

_MOST_TOLD = 5  # failures that differ in their words; the counts go on


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks for whoever watches a run, or recorded runs being graded.

    Attributes:
        started: (a line that says what begins, pieces of work to do, pieces already done).
        progressed: (pieces written since the last call), from the writing thread.
        ended: (how many of them ended so, by ending or failure), from the writing thread.
        interrupted: Ctrl-C was pressed once more.
        said: a line worth showing, such as what memory the models need.
    """

    started: Callable[[str, int, int], None] = lambda line, left, done: None
    progressed: Callable[[int], None] = lambda count: None
    ended: Callable[[Mapping[str, int]], None] = lambda counts: None
    interrupted: Callable[[], None] = lambda: None
    said: Callable[[str], None] = lambda line: None


NOBODY = Watch()


class Seen:
    """Tells a watch how episodes ended: counts of all, and the first of each kind of failure in words, at once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._told: set[str] = set()

    def add(self, finished: Sequence[tuple[Episode, Sequence[Verdict]]]) -> None:
        """Take note of episodes that were written."""
        self._watch.ended(Counter(str(episode.ending) for episode, _ in finished))
        for episode, _ in finished:
            line = (episode.error or "").strip().splitlines()[-1:] or [str(episode.ending)]
            if episode.ending in (Ending.ENGINE_ERROR, Ending.BUG) and line[0] not in self._told:
                self._told.add(line[0])
                if len(self._told) <= _MOST_TOLD:
                    where = f"{episode.model} {episode.mode} {episode.instance_id}"
                    self._watch.said(f"{where}: {episode.ending.replace('_', ' ')}: {line[0]}")

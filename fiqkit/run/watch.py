"""What whoever watches long work is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks for whoever watches a run, or recorded runs being graded.

    Attributes:
        started: (a line that says what begins, pieces of work to do, pieces already done).
        progressed: (pieces written since the last call), from the writing thread.
        interrupted: Ctrl-C was pressed once more.
        said: a line worth showing, such as what memory the models need.
    """

    started: Callable[[str, int, int], None] = lambda line, left, done: None
    progressed: Callable[[int], None] = lambda count: None
    interrupted: Callable[[], None] = lambda: None
    said: Callable[[str], None] = lambda line: None


NOBODY = Watch()

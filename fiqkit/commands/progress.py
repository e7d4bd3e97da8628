"""The progress bar of long work, on stderr: episodes done, rate and time left, and lines that must be said at once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from fiqkit.run.watch import Watch


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.finished_speed or task.speed or 0:.1f}/s")


class _Said(logging.Handler):
    """Warnings of the kit, that a server is gone, above the bar and at once; what is tried again is counted."""

    def __init__(self, say: Callable[[str], None], count: Callable[[Mapping[str, int]], None]) -> None:
        super().__init__(logging.INFO)
        self._say = say
        self._count = count

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self._say(record.getMessage())
        elif hasattr(record, "tried_again"):
            self._count({"tried again": 1})


class WorkProgress:
    """A context in which `watch` drives a progress bar."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[seen]}"),
            console=self._console,
        )
        self._task = self._bar.add_task("episodes", total=None, start=False, seen="")
        self._interrupts = 0
        self._seen: Counter[str] = Counter()
        self._warnings = _Said(self._say, self._ended)
        self.watch = Watch(self._started, self._progressed, self._ended, self._interrupted, self._say)

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False)

    def __enter__(self) -> WorkProgress:
        logger = logging.getLogger("fiqkit")
        self._before = logger.level, logger.handlers
        logger.setLevel(logging.INFO)
        logger.handlers = [self._warnings]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logger = logging.getLogger("fiqkit")
        level, logger.handlers = self._before
        logger.setLevel(level)
        if self._bar.live.is_started:
            self._bar.stop()

    def _started(self, line: str, left: int, done: int) -> None:
        self._say(line + (f", {done} already done" if done else ""))
        self._bar.update(self._task, total=left + done, completed=done)
        self._bar.start_task(self._task)
        self._bar.start()

    def _progressed(self, count: int) -> None:
        self._bar.advance(self._task, count)

    def _ended(self, counts: Mapping[str, int]) -> None:
        """Show how many episodes ended otherwise than with an answer, and how many requests were tried again."""
        self._seen.update(counts)
        shown = (f"{n} {name.replace('_', ' ')}" for name, n in self._seen.items() if name != "answered")
        self._bar.update(self._task, seen=" · ".join(shown))

    def _interrupted(self) -> None:
        self._interrupts += 1
        waiting = (
            "finishing the episodes in flight; Ctrl-C again stops at once" if self._interrupts == 1 else "stopping"
        )
        self._say(waiting)

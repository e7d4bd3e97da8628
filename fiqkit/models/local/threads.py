"""How many threads a CPU engine should use, so that a busy machine does not collapse.

Threads that spin for each other on cores that other work holds are far slower than one thread alone, so a machine whose
cores are taken gets one. What the machine does is looked at again and again: a run that begins on a busy machine must
not keep its one thread through the idle hours after.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MOMENT = 0.1  # seconds over which the cores are watched; the load average lags a minute behind what runs
AGAIN = 2.0  # seconds after which they are looked at again during a run
_CPU_TIMES = Path("/proc/stat")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")


def choose_threads(asked: int | None = None) -> int:
    """`asked` where it is given, else OMP_NUM_THREADS, else the idle physical cores that this process may use."""
    return stated_threads(asked) or _idle_cores(_busy())


def stated_threads(asked: int | None) -> int:
    """The number that the caller or OMP_NUM_THREADS sets; 0 where neither does."""
    stated = os.environ.get("OMP_NUM_THREADS", "")
    return asked or (int(stated) if stated.isdigit() else 0)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the processors and this process had done at a moment."""

    at: float
    own: float
    ticks: Mapping[int, tuple[int, int]]

    @classmethod
    def now(cls) -> _Look:
        return cls(time.monotonic(), time.process_time(), _times())

    def busy_until(self, later: _Look) -> float:
        """How many processors others kept busy in between."""
        own = (later.own - self.own) / max(1e-9, later.at - self.at)
        return max(0.0, _busy_between(self.ticks, later.ticks) - own)


class Threads:
    """The number of threads for an engine's next step, which follows what others do on the machine.

    Args:
        asked: a number that stays; so does OMP_NUM_THREADS.
        fixed: keep the number of the start.
    """

    def __init__(self, asked: int | None = None, *, fixed: bool = False) -> None:
        self._number = choose_threads(asked)
        follows = not fixed and not stated_threads(asked) and _CPU_TIMES.exists()
        self._last = _Look.now() if follows else None

    def now(self) -> int:
        """The number to use now; cheap enough to be asked at every step."""
        if self._last and time.monotonic() - self._last.at >= AGAIN:
            look = _Look.now()
            self._number = _idle_cores(self._last.busy_until(look))
            self._last = look
        return self._number


def _idle_cores(busy: float) -> int:
    return max(1, physical_cores() - round(busy / _threads_per_core()))


def physical_cores() -> int:
    """Physical cores within the affinity mask and the container's quota; at least 1."""
    return max(1, min(len(_processors()) // _threads_per_core(), _quota()))


def _processors() -> set[int]:
    """The logical processors that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _busy() -> float:
    """How many of them are at work now; 0 where the system does not tell."""
    try:
        before = _times()
        time.sleep(MOMENT)
        after = _times()
    except OSError:
        return 0.0
    return _busy_between(before, after)


def _busy_between(before: Mapping[int, tuple[int, int]], after: Mapping[int, tuple[int, int]]) -> float:
    seen = {cpu: (before[cpu], after[cpu]) for cpu in after if cpu in before}
    passed = [(late[0] - early[0], late[1] - early[1]) for early, late in seen.values()]
    return sum(1 - idle / total for idle, total in passed if total > 0)


def _times() -> dict[int, tuple[int, int]]:
    """Idle and total time of each of the processors since the start, in ticks."""
    found = {}
    for line in _CPU_TIMES.read_text().splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu" and int(name[3:]) in _processors():
            _, _, _, idle, waiting, *_ = spent = [int(tick) for tick in ticks[:8]]
            found[int(name[3:])] = idle + waiting, sum(spent)
    return found


def _threads_per_core() -> int:
    try:
        listed = _SIBLINGS.read_text().strip()
    except OSError:
        return 1
    return len(listed.replace("-", ",").split(","))


def _quota() -> int:
    """Whole cores that the control group grants; a large number where it sets no limit."""
    try:
        quota, period = _CGROUP_LIMIT.read_text().split()
    except (OSError, ValueError):
        return 1 << 16
    return 1 << 16 if quota == "max" else max(1, int(quota) // int(period))

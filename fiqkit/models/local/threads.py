"""How many threads a CPU engine should use, so that a busy machine does not collapse.

Threads that spin for each other on cores that other work holds are far slower than one thread alone, so a machine whose
cores are taken gets one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

MOMENT = 0.1  # seconds over which the cores are watched; the load average lags a minute behind what runs
_CPU_TIMES = Path("/proc/stat")
_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")


def choose_threads(asked: int | None = None) -> int:
    """`asked` where it is given, else OMP_NUM_THREADS, else the idle physical cores that this process may use."""
    if asked:
        return asked
    if (stated := os.environ.get("OMP_NUM_THREADS", "")).isdigit() and int(stated):
        return int(stated)
    return max(1, physical_cores() - round(_busy() / _threads_per_core()))


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
    passed = {cpu: (idle - before[cpu][0], total - before[cpu][1]) for cpu, (idle, total) in after.items()}
    return sum(1 - idle / total for idle, total in passed.values() if total)


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

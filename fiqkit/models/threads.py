"""How many threads a CPU engine should use, so that a busy machine does not collapse.

Threads that spin for each other on cores that other work holds are far slower than one thread alone, so a machine whose
cores are taken gets one.
"""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_SIBLINGS = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")


def choose_threads(asked: int | None = None) -> int:
    """`asked` where it is given, else OMP_NUM_THREADS, else the idle physical cores that this process may use."""
    if asked:
        return asked
    if (stated := os.environ.get("OMP_NUM_THREADS", "")).isdigit() and int(stated):
        return int(stated)
    cores = physical_cores()
    busy = os.getloadavg()[0]
    return cores if busy < cores / 2 else max(1, cores - round(busy))


def physical_cores() -> int:
    """Physical cores within the affinity mask and the container's quota; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores //= _threads_per_core()
    return max(1, min(cores, _quota()))


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

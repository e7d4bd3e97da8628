"""Ends what a killed process has left running.

    python reaper.py PARENT_PID

A library that starts worker processes of its own (vLLM does) cannot clean up when it is killed with SIGKILL, and the
workers hold on to the GPU. This script notes its parent's descendants while the parent lives, and once it is gone kills
those that are still there. Like the watchdog it imports nothing of the kit. It needs /proc; elsewhere it does nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

LEAVE = 3.0  # seconds that a parent's own clean-up may take after it is gone
Birth = tuple[int, str]  # a process by its id and start time: ids are used again


def main(parent: int) -> None:
    """Watch `parent` until it ends, then end its descendants."""
    known: set[Birth] = set()
    while os.getppid() == parent:
        known |= descendants(parent)
        time.sleep(0.5)
    deadline = time.monotonic() + LEAVE
    while (left := known & set(_processes())) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid, _ in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> set[Birth]:
    """The processes below `root`, this one left out."""
    parents = _processes()
    below: set[Birth] = set()
    front = {root}
    while front:
        found = {birth for birth, parent in parents.items() if parent in front and birth[0] != os.getpid()}
        below |= found
        front = {pid for pid, _ in found}
    return below


def _processes() -> dict[Birth, int]:
    """Every living process → the id of its parent."""
    found = {}
    with suppress(FileNotFoundError):
        for entry in os.listdir("/proc"):  # noqa: PTH208 (pathlib would be a third of the start-up)
            if entry.isdigit():
                with suppress(OSError), open(f"/proc/{entry}/stat") as stat:  # noqa: PTH123
                    fields = stat.read().rpartition(")")[2].split()
                    if fields[0] != "Z":
                        found[int(entry), fields[19]] = int(fields[1])
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))

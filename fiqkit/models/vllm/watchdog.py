"""Runs a server and takes it down with the process that wanted it, however that process dies.

    python watchdog.py PARENT_PID GRACE_SECONDS COMMAND...

It is a script of its own that imports nothing of the kit, so that it costs little and outlives a `kill -9` of its
parent. It leads a session of its own: the terminal's Ctrl-C does not reach the server, so that a run can drain. The
server and all that it starts are one process group. The parent's process id is watched, rather than a parent-death
signal set, because that signal also fires when only the thread that started the child ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

GONE = 75  # exit code when the server was taken down rather than ended by itself


def main(parent: int, grace: float, command: list[str]) -> int:
    """Run `command` until it ends, the parent is gone, or this process is told to stop.

    Its group then gets SIGTERM, and after `grace` seconds SIGKILL. Returns the command's exit code if it ended by
    itself (128 + signal where one killed it), else `GONE`.
    """
    told = []

    def stop(signum: int, frame: FrameType | None) -> None:
        told.append(signum)

    signal.signal(signal.SIGTERM, stop)
    child = subprocess.Popen(command, process_group=0)
    while child.poll() is None and not told and os.getppid() == parent:
        time.sleep(0.1)
    code = child.returncode
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if code is None:
        return GONE
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))

"""One part in, one reading out: what a worker process does."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import signal
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.filings.damage import DAMAGE, reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fact import Reading
from fiqkit.filings.kinds import Part, content


@dataclass(frozen=True, slots=True)
class Outcome:
    """A part's reading, or the one line that says why there is none."""

    part: Part
    reading: Reading | None
    error: str = ""
    ours: bool = True


def read_part(part: Part) -> Outcome:
    """Read one part. Bad input becomes the outcome's `error`; anything else is a bug and escapes."""
    reading = Reading()
    try:
        _READERS[part.kind](part, reading)
    except NotOurs as error:
        return Outcome(part, None, str(error), ours=False)
    except UserError as error:
        return Outcome(part, None, str(error))
    if not reading:
        return Outcome(part, None, f"{part.path}:1: holds no fact and no text that can be read{_why(reading)}")
    return Outcome(part, reading)


def begin_worker() -> None:
    """First act of a reader process: to end at once on Ctrl-C, and with its parent, whatever ends that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _why(reading: Reading) -> str:
    return "".join(f"; {count} {reason}" for reason, count in reading.left_out.most_common(1))


def _filing(part: Part, reading: Reading) -> None:
    from fiqkit.filings.documents import read_filing

    path = Path(part.path)
    read_filing(content(path), path, reading)


def _export(part: Part, reading: Reading) -> None:
    from fiqkit.filings.exports import read_export

    path = Path(part.path)
    read_export(content(path), path, part.entity, part.name, reading)


def _lines(part: Part, reading: Reading) -> None:
    from fiqkit.filings.lines import read_lines

    path = Path(part.path)
    read_lines(content(path), path, reading)


def _questions(part: Part, reading: Reading) -> None:
    from fiqkit.filings.questions import read_questions

    path = Path(part.path)
    read_questions(content(path), path, reading)


def _companyfacts(part: Part, reading: Reading) -> None:
    from fiqkit.filings.companyfacts import read_companyfacts

    with Path(part.path).open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        read_companyfacts(gzip.GzipFile(fileobj=raw) if packed else raw, part.path, reading)


@lru_cache(maxsize=1)
def _archive(path: str, modified: int) -> zipfile.ZipFile:
    """An open zip, kept from member to member: the directory of the SEC's own has 18,000 lines."""
    return zipfile.ZipFile(path)


def _companyfacts_zip(part: Part, reading: Reading) -> None:
    from fiqkit.filings.companyfacts import read_companyfacts

    where = f"{part.path}/{part.part}"
    try:
        stream = _archive(part.path, Path(part.path).stat().st_mtime_ns).open(part.part)
    except DAMAGE as error:
        raise UserError(f"{where}:1: damaged zip ({reason(error)}); download it again") from error
    with stream:
        read_companyfacts(stream, where, reading)


def _fsds(part: Part, reading: Reading) -> None:
    from fiqkit.filings.fsds import read_fsds

    read_fsds(Path(part.path), part.bounds, reading)


_READERS: dict[str, Callable[[Part, Reading], None]] = {
    "filing": _filing,
    "export": _export,
    "lines": _lines,
    "questions": _questions,
    "companyfacts": _companyfacts,
    "companyfacts_zip": _companyfacts_zip,
    "fsds": _fsds,
}

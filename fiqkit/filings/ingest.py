"""Paths in, one fact store out: plan, read in several processes, write in one, go on where the last time stopped."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from hashlib import file_digest
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.filings.damage import reason
from fiqkit.filings.exports import NotOurs
from fiqkit.filings.fiscal import all_calendars
from fiqkit.filings.kinds import Part, parts
from fiqkit.filings.read import Outcome, begin_worker, read_part
from fiqkit.filings.store import FactStore
from fiqkit.filings.submission import documents_beside

Progress = Callable[[str, int, int], None]  # (path just read, bytes read, bytes in all)


@dataclass(slots=True)
class Summary:
    """What an ingestion read, and what it did not and why.

    Attributes:
        files: files seen; `already`: of them, those that the store held and that have not changed.
        read: kind → number of files read now.
        skipped: one line for each file that is none of the kit's or that another file repeats.
        faults: one line for each file that could not be read.
        left_out: reason → number of facts in files that were read but that were not taken.
        remarks: what to know of facts that were taken → how often.
    """

    files: int = 0
    already: int = 0
    read: Counter[str] = field(default_factory=Counter)
    facts: int = 0
    text_facts: int = 0
    passages: int = 0
    skipped: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def row(self) -> dict[str, Any]:
        """The summary as a JSON object."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class _Task:
    """A part that is to be read, and its file's identity for the journal."""

    part: Part
    size: int
    modified: int
    sha256: str
    named: bool  # given by the user, not found in a folder


def ingest(
    paths: Iterable[Path],
    out: Path,
    *,
    jobs: int = 1,
    entity: str | None = None,
    name: str | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Summary:
    """Read files and folders into the fact store at `out`; what it holds already and has not changed is not read again.

    Args:
        jobs: processes that read; one process writes. The store's content does not depend on it.
        entity, name: the company of export tables that name none.
        executor: reads instead of `jobs` processes of this machine, for example a Dask client's; its workers must see
            the same paths.

    Raises:
        UserError: a path does not exist, the store cannot be written, or a reader process was killed. What was written
            until then is whole.
    """
    begun = time.monotonic()
    summary = Summary()
    files = _files(paths)
    if out.exists() and any(named and path.samefile(out) for path, named in files.items()):
        raise UserError(
            f"{out}: is one of the files to read, and the fact store cannot be written over it; name another"
        )
    store = FactStore(out, create=True)
    try:
        tasks = _plan(files, store, entity, name, summary)
        total = sum(task.part.weight for task in tasks)
        done = 0
        with _outcomes(tasks, jobs, executor) as outcomes:
            for task, outcome in zip(tasks, outcomes, strict=True):
                _take(task, outcome, store, summary)
                done += task.part.weight
                if progress:
                    progress(task.part.path, done, total)
        if tasks:
            store.finish(all_calendars(store))
    finally:
        store.close()
    summary.seconds = time.monotonic() - begun
    return summary


def _files(paths: Iterable[Path]) -> dict[Path, bool]:
    """File → was it named, in a stable order; a folder gives all that it holds but hidden files."""
    files: dict[Path, bool] = {}
    for path in paths:
        if path.is_dir():
            for inside in sorted(path.rglob("*")):
                if inside.is_file() and not inside.name.startswith("."):
                    files.setdefault(Path(os.path.normpath(inside)), False)
        elif path.exists():
            files[Path(os.path.normpath(path))] = True
        else:
            raise UserError(f"{path}: no such file or folder; check the path")
    return files


def _plan(
    files: Mapping[Path, bool], store: FactStore, entity: str | None, name: str | None, summary: Summary
) -> list[_Task]:
    """The parts that are still to be read; what need not be is noted in the summary."""
    tasks: list[_Task] = []
    seen: dict[str, str] = {}  # hash → the file of this plan that has it
    held = _held(files)
    for path, named in files.items():
        summary.files += 1
        key = str(path)
        if path in held:
            store.forget(key)  # it may have been read before the submission was there
            summary.skipped.append(f"{path}: a document of {held[path]}, which is read")
            continue
        known = store.known(key)
        try:
            stat = path.stat()
            found = parts(path, entity, name)
            unchanged = known and all((k["size"], k["modified"]) == (stat.st_size, stat.st_mtime_ns) for k in known)
            digest = known[0]["sha256"] if unchanged else _digest(path)
        except NotOurs as error:
            (summary.faults if named else summary.skipped).append(str(error))
            continue
        except UserError as error:
            summary.faults.append(str(error))
            continue
        done = {line["part"] for line in known if line["sha256"] == digest}
        if done and not unchanged:
            store.touch(key, stat.st_mtime_ns)
        twin = None if done else seen.get(digest) or store.same_content(digest, key)
        if twin:
            summary.skipped.append(f"{path}: the same bytes as {twin}")
            continue
        seen[digest] = key
        wanted = [part for part in found if part.part not in done]
        summary.already += not wanted
        tasks += (_Task(part, stat.st_size, stat.st_mtime_ns, digest, named) for part in wanted)
    return tasks


def _held(files: Iterable[Path]) -> dict[Path, Path]:
    """Document → the full submission in its folder that holds it too; the submission's header says more."""
    alone = {path: re.search(r"\.(txt|nc)(\.gz)?$", path.name, re.IGNORECASE) is None for path in files}
    folders = {path.parent for path in files if alone[path]}
    held: dict[Path, Path] = {}
    for path in files:
        if not alone[path] and path.parent in folders:
            with suppress(UserError):  # told when it is read
                held |= dict.fromkeys(documents_beside(path), path)
    return held


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({reason(error)}); check its permissions") from error


def _take(task: _Task, outcome: Outcome, store: FactStore, summary: Summary) -> None:
    """Write one outcome, or note why there is nothing to write."""
    reading = outcome.reading
    if reading is None:
        (summary.faults if outcome.ours or task.named else summary.skipped).append(outcome.error)
        return
    store.add(task.part, reading, size=task.size, modified=task.modified, sha256=task.sha256)
    summary.read[task.part.kind] += 1
    summary.facts += len(reading.facts)
    summary.text_facts += len(reading.texts)
    summary.passages += len(reading.passages)
    summary.left_out.update(reading.left_out)
    summary.remarks.update(reading.remarks)


@contextmanager
def _outcomes(tasks: list[_Task], jobs: int, executor: Executor | None) -> Iterator[Iterator[Outcome]]:
    """The outcomes of the tasks in their order, read ahead by a bounded number of parts."""
    jobs = min(jobs, len(tasks))
    if executor is not None:
        yield _ahead(tasks, executor, 2 * (os.cpu_count() or 1))
    elif jobs <= 1:
        yield (read_part(task.part) for task in tasks)
    else:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=begin_worker)
        # A worker that has not begun yet must not answer Ctrl-C with a traceback; the mask is inherited.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for _ in range(jobs):  # a worker is started for each task while none is idle yet: all of them, here
            pool.submit(int)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            yield _ahead(tasks, pool, 2 * jobs)
        finally:
            pool.shutdown(cancel_futures=True)


def _ahead(tasks: list[_Task], executor: Executor, window: int) -> Iterator[Outcome]:
    waiting: deque[Future[Outcome]] = deque()
    todo = iter(tasks)
    try:
        for task in todo:
            waiting.append(executor.submit(read_part, task.part))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            "a reader process was killed, perhaps for want of memory; what was read is kept: go on with --jobs 1"
        ) from error

"""Continuous batching on one llama.cpp context: requests join and leave between two steps.

A finished sequence keeps its cells, so that a dialogue that is only added to computes its tail, and a prompt that
begins like another one shares that one's cells. What is kept is dropped when room is needed, least recently used first.
Requests of different adapters share no cells and take turns: a pass of the model has one adapter or none.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fiqkit.models.engine import Completion, EngineError, Sampling
from fiqkit.models.local.llama_native import Context, Model
from fiqkit.models.local.llama_sampling import Sampler
from fiqkit.models.local.threads import Threads
from fiqkit.models.local.worker import Pending
from fiqkit.models.reasoning import begins, closes

_WORTH_WAITING = 64  # tokens of a common prefix from which a job waits for the one that is computing it
_WORTH_COPYING = 64  # and from which a stream is copied


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way: what it asks, what it has, and who waits for it.

    Attributes:
        thinks: it is in the think block that the model writes first, and the constraint begins after it; None where
            only its first token will show whether it thinks.
    """

    prompt: Sequence[int]
    sampling: Sampling
    sampler: Sampler
    pending: Pending
    thinks: bool | None = False
    logprobs: bool = False
    adapter: Path | None = None
    output: list[int] = field(default_factory=list)
    text: bytearray = field(default_factory=bytearray)
    chances: list[float] = field(default_factory=list)
    submitted: float = field(default_factory=time.perf_counter)
    admitted: float = 0.0

    @property
    def length(self) -> int:
        """Tokens it may hold at the end."""
        return len(self.prompt) + self.sampling.max_tokens

    def release(self) -> None:
        """Free its sampler."""
        self.sampler.free()


@dataclass(slots=True, eq=False)
class _Slot:
    """One sequence of the context: the tokens whose cells it holds, and the job it works on, if any.

    `cells` names each cell by a number of its own: slots that share a prefix share the numbers, which makes the count
    of cells in use exact.
    """

    sequence: int
    tokens: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    prompt_length: int = 0
    used: int = 0
    job: Job | None = None
    adapter: Path | None = None  # with which its cells were computed


@dataclass(frozen=True, slots=True)
class Room:
    """How large a context is: `pool` cells in all, for `parallel` jobs at once.

    Attributes:
        batch: tokens of one pass.
        keeps: finished sequences keep their cells for prompts that begin alike.
        streams: each of the `parallel` sequences has its part of the pool to itself; otherwise they share it, with as
            many finished ones beside them.
    """

    pool: int
    parallel: int
    batch: int
    keeps: bool
    streams: bool

    @property
    def sequences(self) -> int:
        """How many sequences the context holds."""
        return self.parallel * (2 if self.keeps and not self.streams else 1)


@dataclass(slots=True)
class Counters:
    """What the worker has done so far, for benchmarks and the manifest."""

    steps: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0


class LlamaBatch:
    """The requests of one model and context; see `fiqkit.models.local.worker.Batch`."""

    def __init__(self, model: Model, context: Context, room: Room, threads: Threads) -> None:
        self.counters = Counters()
        self._model, self._context, self._room, self._threads = model, context, room, threads
        self._waiting: deque[Job] = deque()
        self._slots = [_Slot(sequence) for sequence in range(room.sequences)]
        self._clock = itertools.count(1)
        self._cell_numbers = itertools.count()

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not self._waiting and not any(slot.job for slot in self._slots)

    def take(self, job: Job) -> None:
        """Put a job in line, its adapter loaded."""
        try:
            if job.adapter:
                self._model.adapter(job.adapter)
        except EngineError as error:
            job.release()
            job.pending.settle(error)
            return
        self._waiting.append(job)

    def step(self) -> None:
        """Let jobs go and come, then one pass of the model."""
        self._drop_cancelled()
        self._admit()
        self._compute()

    def interrupt(self) -> None:
        """End the pass that is being computed."""
        self._context.abort()

    def give_up(self) -> list[Job]:
        """All jobs that run or wait."""
        return [slot.job for slot in self._slots if slot.job] + list(self._waiting)

    def free(self) -> None:
        """Free the context, then the model."""
        self._context.free()
        self._model.free()

    def _drop_cancelled(self) -> None:
        for slot in self._slots:
            if slot.job and slot.job.pending.cancelled:
                self._release(slot)
        for job in [job for job in self._waiting if job.pending.cancelled]:
            self._waiting.remove(job)
            job.release()

    def _admit(self) -> None:
        """Give free slots to waiting jobs, in order of arrival, as far as the pool has room for all they may write."""
        for job in list(self._waiting):
            free = [slot for slot in self._slots if slot.job is None]
            if len(self._slots) - len(free) >= self._room.parallel:
                return
            source, shared = self._best_prefix(job)
            if self._is_being_computed(job, shared):
                continue
            if not self._make_room(job.length - shared, source, shared):
                return
            self._waiting.remove(job)
            self._place(job, self._target(free, source, shared), source, shared)

    def _best_prefix(self, job: Job) -> tuple[_Slot | None, int]:
        """The slot with the longest common prefix, and its length; at least one token is left to compute."""
        best: tuple[_Slot | None, int] = (None, 0)
        for slot in self._slots if self._room.keeps else ():
            if slot.adapter != job.adapter:
                continue
            shared = min(common_prefix(slot.tokens, job.prompt), len(job.prompt) - 1)
            if not self._model.rewinds and (slot.job or shared != len(slot.tokens)):
                continue
            if shared > best[1]:
                best = (slot, shared)
        return best

    def _is_being_computed(self, job: Job, shared: int) -> bool:
        """Whether a running job is at work on a prefix of this prompt that is worth waiting for.

        Episodes that start together begin with the same instructions: one of them computes these, the others share.
        """
        if not self._room.keeps or not self._model.rewinds:
            return False
        return any(
            len(slot.tokens) < common >= shared + _WORTH_WAITING
            for slot in self._slots
            if slot.job
            and slot.adapter == job.adapter
            and (common := min(common_prefix(slot.job.prompt, job.prompt), len(job.prompt) - 1))
        )

    def _make_room(self, cells: int, source: _Slot | None, shared: int) -> bool:
        """Drop kept sequences, what the source does not share last, until `cells` more fit beside all that the running
        jobs may still write. A stream has room for any job."""
        if self._room.streams:
            return True
        promised = sum(slot.job.length - len(slot.tokens) for slot in self._slots if slot.job)
        while True:
            in_use = len(set().union(*(slot.cells for slot in self._slots)))
            if in_use + promised + cells <= self._room.pool:
                return True
            kept = [slot for slot in self._slots if slot.job is None and slot.tokens and slot is not source]
            if kept:
                self._cut(min(kept, key=lambda slot: slot.used), 0)
            elif source is not None and source.job is None and len(source.tokens) > shared:
                self._cut(source, shared)
            else:
                return False

    def _target(self, free: list[_Slot], source: _Slot | None, shared: int) -> _Slot:
        """The slot to work in: the source itself where it holds the same dialogue, so that no other one is dropped."""
        if source in free and source is not None and shared >= source.prompt_length:
            return source
        others = [slot for slot in free if slot is not source] or free
        return min(others, key=lambda slot: slot.used)

    def _place(self, job: Job, slot: _Slot, source: _Slot | None, shared: int) -> None:
        if slot is source:
            self._cut(slot, shared)
        else:
            self._cut(slot, 0)
            if source is not None and self._room.streams and shared < _WORTH_COPYING:
                shared = 0
            if source is not None and shared:
                self._context.copy(source.sequence, slot.sequence, shared)
                slot.tokens, slot.cells = source.tokens[:shared], source.cells[:shared]
        slot.job, slot.prompt_length, slot.used = job, len(job.prompt), next(self._clock)
        slot.adapter = job.adapter
        job.admitted = time.perf_counter()
        self.counters.reused_tokens += shared
        self.counters.prompt_tokens += len(job.prompt)

    def _cut(self, slot: _Slot, length: int) -> None:
        if len(slot.tokens) > length:
            self._context.forget(slot.sequence, length)
            del slot.tokens[length:], slot.cells[length:]

    def _compute(self) -> None:
        """One pass of the model over a token of each running reply and as much of the prompts as the batch holds; those
        of one adapter, where there are several."""
        runs = self._fill()
        if not runs:
            return
        self._context.use_threads(self._threads.now())
        try:
            rows = [(slot.sequence, len(slot.tokens), tokens, wanted) for slot, tokens, wanted in runs]
            self._context.use_adapter(runs[0][0].adapter)
            logits = self._context.decode(rows)
        except EngineError as error:
            self._fail_running(error)
            return
        self.counters.steps += 1
        for (slot, tokens, _), row in zip(runs, logits, strict=True):
            slot.tokens.extend(tokens)
            slot.cells.extend(itertools.islice(self._cell_numbers, len(tokens)))
            if row is not None:
                self._try_to_advance(slot, row)

    def _fill(self) -> list[tuple[_Slot, Sequence[int], bool]]:
        running = sorted((slot for slot in self._slots if slot.job), key=lambda slot: slot.used)
        if len(adapters := list(dict.fromkeys(slot.adapter for slot in running))) > 1:
            turn = adapters[self.counters.steps % len(adapters)]
            running = [slot for slot in running if slot.adapter == turn]
        runs: list[tuple[_Slot, Sequence[int], bool]] = []
        left = self._room.batch - sum(bool(slot.job and slot.job.output) for slot in running)
        for slot in running:
            job = slot.job
            assert job is not None
            if job.output:
                runs.append((slot, job.output[-1:], True))
                continue
            tokens = job.prompt[len(slot.tokens) : len(slot.tokens) + left]
            if tokens:
                runs.append((slot, tokens, len(slot.tokens) + len(tokens) == len(job.prompt)))
                left -= len(tokens)
        return sorted(runs, key=lambda run: run[0].sequence)  # streams that follow on each other are computed together

    def _try_to_advance(self, slot: _Slot, logits: np.ndarray) -> None:
        try:
            self._advance(slot, logits)
        except EngineError as error:  # its own logits are no numbers; the others' may be sound
            if job := slot.job:
                self._release(slot)
                job.pending.settle(error)

    def _advance(self, slot: _Slot, logits: np.ndarray) -> None:
        job = slot.job
        assert job is not None
        if job.thinks is None:
            first = self._model.piece(job.sampler.draw(logits, False))
            job.thinks = begins(first.decode("utf-8", "replace"))
        constrained = not job.thinks
        token = job.sampler.draw(logits, constrained)
        job.output.append(token)
        self.counters.output_tokens += 1
        if job.logprobs:
            job.chances.append(log_probability(logits, token))
        if self._model.ends(token):
            self._finish(slot, job, "stop")
            return
        if constrained:
            job.sampler.accept(token)
        before = len(job.text)
        job.text += self._model.piece(token)
        job.thinks = job.thinks and not closes(job.text, before)
        if (cut := _stop_at(job, before)) is not None:
            del job.text[cut:]
            self._finish(slot, job, "stop")
        elif len(job.output) >= job.sampling.max_tokens:
            self._finish(slot, job, "length")

    def _finish(self, slot: _Slot, job: Job, finish: str) -> None:
        now = time.perf_counter()
        completion = Completion(
            text=job.text.decode("utf-8", "replace"),
            finish=finish,
            prompt_ids=tuple(job.prompt),
            output_ids=tuple(job.output),
            logprobs=tuple(job.chances),
            prompt_tokens=len(job.prompt),
            output_tokens=len(job.output),
            seconds=now - job.submitted,
            queued=job.admitted - job.submitted,
        )
        self._release(slot)
        job.pending.settle(completion)

    def _release(self, slot: _Slot) -> None:
        """Free the slot; its cells stay for a prompt that begins alike, where sequences are kept at all."""
        if slot.job:
            slot.job.release()
        slot.job = None
        slot.used = next(self._clock)
        if not self._room.keeps:
            self._cut(slot, 0)

    def _fail_running(self, error: EngineError) -> None:
        """Give the error to all running jobs and start from an empty context, since its state is unknown."""
        for slot in self._slots:
            if job := slot.job:
                self._release(slot)
                job.pending.settle(error)
            slot.tokens.clear()
            slot.cells.clear()
        self._context.clear()


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common prefix of two sequences of one type."""
    longest = min(len(first), len(second))
    lengths = range(1, longest + 1)
    return bisect(lengths, False, key=lambda length: first[:length] != second[:length])


def log_probability(logits: np.ndarray, token: int) -> float:
    """Natural log of a token's probability at temperature 1, no constraint applied; logits of shape (vocabulary,)."""
    top = float(logits.max())
    return float(logits[token] - top - np.log(np.exp(logits - top).sum(dtype=np.float64)))


def _stop_at(job: Job, before: int) -> int | None:
    """Where the first stop string begins that the bytes from `before` on completed."""
    marks = [stop.encode("utf-8") for stop in job.sampling.stop]
    found = [job.text.find(mark, max(0, before - len(mark) + 1)) for mark in marks]
    return min((place for place in found if place >= 0), default=None)

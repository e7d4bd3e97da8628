"""Generation with a transformers model, several prompts in one left-padded batch.

Written out and not left to `generate`, because each row has its own seed, temperature, stop strings, length and
choices, and leaves the batch when it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from fiqkit.models.engine import Completion, EngineError, Sampling
from fiqkit.models.local.threads import Threads
from fiqkit.models.local.worker import Interrupted, Pending

_GATHER_SECONDS = 0.005  # how long a batch waits for requests that arrive together; a step takes longer


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way.

    Attributes:
        choices: token ids of the replies that are allowed, without an ending token; () for any.
        output, chances, text, finish: the reply as far as it goes; `finish` is empty until it is done.
        settled, decoded: `text` is that of the first `decoded` tokens, whose text the tokens from `settled` on decide.
    """

    prompt: Sequence[int]
    sampling: Sampling
    pending: Pending
    choices: tuple[tuple[int, ...], ...] = ()
    adapter: str | None = None
    logprobs: bool = False
    output: list[int] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    text: str = ""
    finish: str = ""
    settled: int = 0
    decoded: int = 0
    random: torch.Generator | None = None
    submitted: float = field(default_factory=time.perf_counter)
    admitted: float = 0.0

    def release(self) -> None:
        """It holds nothing beside the model."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the loop needs of a tokenizer: text of ids, and the ids that end or pad."""

    decode: Callable[[Sequence[int]], str]
    ends: frozenset[int]
    pad: int


class HfBatch:
    """The requests of one module, batch by batch; see `fiqkit.models.local.worker.Batch`."""

    def __init__(self, model: Any, words: Vocabulary, parallel: int, threads: Threads | None) -> None:
        self._model, self._words, self._parallel, self._threads = model, words, parallel, threads
        self._adapters: dict[str, str] = {}  # path → name inside the peft model
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._interrupted = False

    @property
    def idle(self) -> bool:
        """Nothing waits."""
        return not self._waiting

    def take(self, job: Job) -> None:
        """Put a job in line; the first one waits a moment for company."""
        if not self._waiting:
            time.sleep(_GATHER_SECONDS)
        self._waiting.append(job)

    def step(self) -> None:
        """Run one batch: what waits of one adapter, in order of arrival."""
        waiting = [job for job in self._waiting if not job.pending.cancelled]
        alike = [job for job in waiting if job.adapter == waiting[0].adapter]
        self._running = alike[: self._parallel]
        self._waiting = [job for job in waiting if job not in self._running]
        if not self._running:
            return
        if self._threads:
            torch.set_num_threads(self._threads.now())
        try:
            with evaluating(self._model), self._adapted(self._running[0].adapter), self._interruptible():
                generate(self._model, self._running, self._words)
        except Interrupted:
            raise
        except Exception as error:  # every request of the batch gets it; the next batch may do better
            fault = _fault(error, len(self._running))
            for job in self._running:
                job.pending.settle(fault)
        else:
            # Only now, with the module's mode put back: its owner may go on as soon as the last reply is there.
            for job in self._running:
                if job.finish:
                    job.pending.settle(completion_of(job))
        self._running = []

    def interrupt(self) -> None:
        """End the batch before its next layer."""
        self._interrupted = True

    def give_up(self) -> list[Job]:
        """All jobs that run or wait."""
        return self._running + self._waiting

    def free(self) -> None:
        """Let go of the module; its owner may still have it."""
        self._model = None

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """With every layer asking first whether it is still wanted."""

        def check(*_: Any) -> None:
            if self._interrupted:
                raise Interrupted

        lists = [module for module in self._model.modules() if isinstance(module, torch.nn.ModuleList)]
        layers = max(lists, key=len, default=[self._model])
        hooks = [layer.register_forward_pre_hook(check) for layer in layers]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def _adapted(self, path: str | None) -> Iterator[None]:
        """With the adapter of that path active, or with none that this engine has loaded."""
        if path is None:
            with self._model.disable_adapter() if self._adapters else nullcontext():
                yield
            return
        import peft

        if path not in self._adapters:
            name = f"adapter{len(self._adapters)}"
            if self._adapters:
                self._model.load_adapter(path, name)
            else:
                self._model = peft.PeftModel.from_pretrained(self._model, path, adapter_name=name)
            self._adapters[path] = name
        self._model.set_adapter(self._adapters[path])
        yield


def _fault(error: Exception, requests: int) -> EngineError:
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return EngineError(f"the GPU has no memory for {requests} requests at once; lower `parallel`")
    if isinstance(error, EngineError):
        return error
    return EngineError(f"transformers failed: {type(error).__name__}: {error}")


@torch.no_grad()
def generate(model: Any, jobs: Sequence[Job], words: Vocabulary) -> None:
    """Run the jobs together until each is done or cancelled.

    Args:
        model: a causal language model.
        jobs: prompts of any lengths; they are padded on the left with positions that skip the padding.
        words: the tokenizer's part.
    """
    device = next(model.parameters()).device
    rows = list(jobs)
    for job in rows:
        job.admitted = time.perf_counter()
        job.random = torch.Generator().manual_seed(job.sampling.seed)
    ids, mask = _padded([job.prompt for job in rows], words.pad, device)
    cache = None
    while True:
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = out.cache
        logits = out.logits[:, -1].float().cpu()
        for job, row in zip(rows, logits, strict=True):
            if not job.finish and not job.pending.cancelled:
                _advance(job, row, words)
        alive = [i for i, job in enumerate(rows) if not job.finish and not job.pending.cancelled]
        if not alive:
            return
        if len(alive) * 2 <= len(rows) and _selects(cache):
            keep = torch.tensor(alive, device=device)
            cache.batch_select_indices(keep)
            mask, rows = mask[keep], [rows[i] for i in alive]
        ids = torch.tensor([[job.output[-1] if job.output else words.pad] for job in rows], device=device)
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)


def completion_of(job: Job) -> Completion:
    """The completion of a job that is done."""
    return Completion(
        text=job.text,
        finish=job.finish,
        prompt_ids=tuple(job.prompt),
        output_ids=tuple(job.output),
        logprobs=tuple(job.chances),
        prompt_tokens=len(job.prompt),
        output_tokens=len(job.output),
        seconds=time.perf_counter() - job.submitted,
        queued=job.admitted - job.submitted,
    )


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Without dropout; the module's mode is put back, since a trainer may own it."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _padded(prompts: Sequence[Sequence[int]], pad: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and attention mask of shape (prompts, longest), padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.full((len(prompts), longest), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    return ids.to(device), mask.to(device)


def _selects(cache: Any) -> bool:
    """Whether rows can be taken out of a cache; that of linear attention cannot give any up."""
    return all(hasattr(layer, "batch_select_indices") for layer in cache.layers)


def _advance(job: Job, logits: torch.Tensor, words: Vocabulary) -> None:
    """Draw one token of a job; logits of shape (vocabulary,), float32 on the CPU."""
    if not torch.isfinite(logits.max()):
        raise EngineError("the model computes no numbers (NaN or infinite logits); are its weights damaged?")
    token = _draw(job, logits, words.ends)
    job.output.append(token)
    if job.logprobs:
        job.chances.append(float(torch.log_softmax(logits, -1)[token]))
    ended = token in words.ends
    if ended or len(job.output) >= job.sampling.max_tokens or _chosen(job):
        job.finish = "stop" if ended or _chosen(job) else "length"
        job.text = words.decode(job.output[:-1] if ended else job.output)
        before = 0
    else:
        before = len(job.text)
        _extend(job, words)
    if cuts := _stops(job, before):
        job.text, job.finish = job.text[: min(cuts)], "stop"


def _extend(job: Job, words: Vocabulary) -> None:
    """Add what the last tokens have added to the text. A character may take several tokens, and the text of a token
    may depend on the one before, so a few are decoded again each time; decoding all of them would be quadratic."""
    known, more = (words.decode(job.output[job.settled : end]) for end in (job.decoded, None))
    if len(more) > len(known) and not more.endswith("\ufffd"):
        job.text += more[len(known) :]
        job.settled, job.decoded = job.decoded, len(job.output)


def _stops(job: Job, before: int) -> list[int]:
    """Where stop strings begin that the text from `before` on completed."""
    found = (job.text.find(stop, max(0, before - len(stop) + 1)) for stop in job.sampling.stop)
    return [place for place in found if place >= 0]


def _chosen(job: Job) -> bool:
    """Whether the reply is a choice that no longer one continues."""
    return tuple(job.output) in job.choices and not any(_follows(choice, job.output) for choice in job.choices)


def _draw(job: Job, logits: torch.Tensor, ends: frozenset[int]) -> int:
    if job.choices:
        allowed = {choice[len(job.output)] for choice in job.choices if _follows(choice, job.output)}
        if tuple(job.output) in job.choices:
            allowed |= ends
        kept = torch.full_like(logits, -torch.inf)
        index = torch.tensor(sorted(allowed))
        kept[index] = logits[index]
        logits = kept
    if job.sampling.temperature <= 0:
        return int(logits.argmax())
    chances = torch.softmax(logits / job.sampling.temperature, -1)
    if job.sampling.top_p < 1:
        chances = _nucleus(chances, job.sampling.top_p)
    return int(torch.multinomial(chances, 1, generator=job.random))


def _follows(choice: Sequence[int], output: Sequence[int]) -> bool:
    return len(choice) > len(output) and list(choice[: len(output)]) == list(output)


def _nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of most likely tokens that holds `top_p` of the probability; the rest set to 0."""
    ranked, order = chances.sort(descending=True)
    outside = ranked.cumsum(-1) - ranked >= top_p
    return chances.scatter(-1, order[outside], 0.0)

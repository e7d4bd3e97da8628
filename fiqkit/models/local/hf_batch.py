"""Generation with a transformers model, several prompts in one left-padded batch.

Written out and not left to `generate`, because each row has its own seed, temperature, stop strings, length and
choices, and leaves the batch when it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from fiqkit.models.engine import Completion, Sampling
from fiqkit.models.local.pending import Pending


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way.

    Attributes:
        choices: token ids of the replies that are allowed, without an ending token; () for any.
        output, chances, text, finish: the reply as far as it goes; `finish` is empty until it is done.
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
    random: torch.Generator | None = None
    submitted: float = field(default_factory=time.perf_counter)
    admitted: float = 0.0


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the loop needs of a tokenizer: text of ids, and the ids that end or pad."""

    decode: Callable[[Sequence[int]], str]
    ends: frozenset[int]
    pad: int


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
    token = _draw(job, logits, words.ends)
    job.output.append(token)
    if job.logprobs:
        job.chances.append(float(torch.log_softmax(logits, -1)[token]))
    ended = token in words.ends
    job.text = words.decode(job.output[:-1] if ended else job.output)
    cuts = [place for stop in job.sampling.stop if (place := job.text.find(stop)) >= 0]
    if cuts:
        job.text = job.text[: min(cuts)]
    if ended or cuts or _chosen(job):
        job.finish = "stop"
    elif len(job.output) >= job.sampling.max_tokens:
        job.finish = "length"


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

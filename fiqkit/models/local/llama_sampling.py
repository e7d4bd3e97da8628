"""The tokens of one request: drawn by llama.cpp's samplers, held to a grammar where there is one."""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp as native
import numpy as np

from fiqkit.models.engine import EngineError, Sampling
from fiqkit.models.local.llama_native import Model

_TRIES = 8  # free draws before the whole vocabulary is held against the grammar


class Sampler:
    """Draws the tokens of one request.

    Args:
        grammar: GBNF text that the output must follow, from its symbol `start` on.
    """

    def __init__(self, model: Model, sampling: Sampling, grammar: str | None, start: str) -> None:
        self._grammar = model.grammar(grammar, start) if grammar else None
        self._greedy = sampling.temperature <= 0
        self._chain = native.llama_sampler_chain_init(native.llama_sampler_chain_default_params())
        for part in _chain_of(sampling):
            native.llama_sampler_chain_add(self._chain, part)

    @property
    def constrains(self) -> bool:
        """Whether there is a grammar."""
        return self._grammar is not None

    def draw(self, logits: np.ndarray, constrained: bool) -> int:
        """The next token for logits of shape (vocabulary,), which the grammar restricts where `constrained`.

        Tokens are drawn freely, those that break the grammar set aside one by one: the first that keeps to it has the
        distribution restricted to the tokens that do. Few tries suffice mostly, and spare the walk of the whole
        vocabulary through the grammar.

        Raises:
            EngineError: the logits are no numbers, on which the library would end the process.
        """
        if not np.isfinite(logits.max()):  # the maximum of anything with a NaN in it is NaN
            raise EngineError("the model computes no numbers (NaN or infinite logits); are its weights damaged?")
        token = self._pick(logits)
        if not constrained or self._grammar is None:
            return token
        left = logits
        for _ in range(_TRIES):
            if self._allows(token):
                return token
            if left is logits:
                left = logits.copy()
            left[token] = -np.inf
            token = self._pick(left)
        return self._draw_from_allowed(logits)

    def accept(self, token: int) -> None:
        """Move the grammar on by a token that it allowed."""
        if self._grammar is not None:
            native.llama_sampler_accept(self._grammar, token)

    def free(self) -> None:
        """Give the memory back. Safe to call twice."""
        if self._chain is None:
            return
        native.llama_sampler_free(self._chain)
        if self._grammar is not None:
            native.llama_sampler_free(self._grammar)
        self._chain = self._grammar = None

    def _pick(self, logits: np.ndarray) -> int:
        return int(logits.argmax()) if self._greedy else self._sample(_candidates(logits))

    def _draw_from_allowed(self, logits: np.ndarray) -> int:
        candidates = _candidates(logits)
        array = _array(candidates)
        native.llama_sampler_apply(self._grammar, ctypes.byref(array))
        return self._sample(candidates)

    def _sample(self, candidates: np.ndarray) -> int:
        array = _array(candidates)
        native.llama_sampler_apply(self._chain, ctypes.byref(array))
        # The samplers may have sorted or replaced the array, so the token is read through its own pointer.
        return int(array.data[array.selected].id)

    def _allows(self, token: int) -> bool:
        single = np.array([(token, 0.0, 0.0)], dtype=_CANDIDATE)
        array = _array(single)
        native.llama_sampler_apply(self._grammar, ctypes.byref(array))
        return bool(single["logit"][0] != -np.inf)


_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def _candidates(logits: np.ndarray) -> np.ndarray:
    table = np.zeros(len(logits), dtype=_CANDIDATE)
    table["id"] = np.arange(len(logits), dtype=np.int32)
    table["logit"] = logits
    return table


def _array(candidates: np.ndarray) -> Any:
    data = candidates.ctypes.data_as(native.llama_token_data_p)
    return native.llama_token_data_array(data=data, size=len(candidates), selected=-1, sorted=False)


def _chain_of(sampling: Sampling) -> list[Any]:
    if sampling.temperature <= 0:
        return [native.llama_sampler_init_greedy()]
    parts = [native.llama_sampler_init_temp(sampling.temperature)]
    if sampling.top_p < 1:
        parts.append(native.llama_sampler_init_top_p(sampling.top_p, 1))
    seed = sampling.seed % 0xFFFFFFFF  # 2³² - 1 would ask for a random one
    return [*parts, native.llama_sampler_init_dist(seed)]

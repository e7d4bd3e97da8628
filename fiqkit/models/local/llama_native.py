"""llama.cpp's C interface as far as the kit needs it: a model, a context of many sequences, one batch.

Errors of the library are collected instead of printed, and become the message of what is raised. Nothing here is safe
to call from two threads at once, but for the reading of a model's vocabulary.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp as native
import numpy as np

from fiqkit.errors import UserError
from fiqkit.models.engine import EngineError
from fiqkit.models.local.worker import Interrupted
from fiqkit.models.opening import abandoned
from fiqkit.models.reasoning import is_mark

_ERROR, _CONTINUED = 4, 5  # GGML_LOG_LEVEL_ERROR, GGML_LOG_LEVEL_CONT
_errors: deque[str] = deque(maxlen=8)


@native.llama_log_callback
def _collect(level: int, text: bytes, _: Any) -> None:
    if level == _ERROR:
        _errors.append(text.decode("utf-8", "replace").strip())


@native.llama_progress_callback
def _go_on(progress: float, _: Any) -> bool:
    """Asked by the library while it loads a model: false ends the loading."""
    return not abandoned()


def _start() -> None:
    """Take over the library's log; its backend starts when the package is imported."""
    native.llama_log_set(_collect, ctypes.c_void_p(0))
    _errors.clear()


def _last_error() -> str:
    """What the library said first of the failure: later lines only repeat that it failed."""
    return _errors[0] if _errors else "no reason given"


class Model:
    """Weights and vocabulary of a GGUF file.

    Raises:
        UserError: the file is no GGUF, or is cut, or is of an architecture that the library does not know.
    """

    def __init__(self, name: str, path: Path, gpu_layers: int) -> None:
        with path.open("rb") as stream:
            if stream.read(4) != b"GGUF":
                raise UserError(f"{name}: {path} is not a GGUF file; give the .gguf file of the model")
        _start()
        options = native.llama_model_default_params()
        options.n_gpu_layers = gpu_layers
        options.progress_callback = _go_on
        self._in_use = threading.Lock()  # of the vocabulary: a thread that reads it must not see it freed
        self.handle = native.llama_model_load_from_file(str(path).encode(), options)
        if not self.handle:
            raise UserError(f"{name}: cannot load {path} ({path.stat().st_size:,} bytes): {_last_error()}")
        self._vocab = native.llama_model_get_vocab(self.handle)
        self.n_vocab: int = native.llama_vocab_n_tokens(self._vocab)
        self.trained_context: int = native.llama_model_n_ctx_train(self.handle)
        # A recurrent state cannot be rolled back to a shorter prefix.
        self.rewinds: bool = not (
            native.llama_model_is_recurrent(self.handle) or native.llama_model_is_hybrid(self.handle)
        )
        template = native.llama_model_chat_template(self.handle, None)
        self.template: str | None = template.decode("utf-8", "replace") if template else None
        self.bos: int = native.llama_vocab_bos(self._vocab)
        self.eos: int = native.llama_vocab_eos(self._vocab)
        self.adds_bos: bool = native.llama_vocab_get_add_bos(self._vocab)
        self._pieces: dict[int, bytes] = {}
        self._adapters: dict[Path, Any] = {}

    def adapter(self, path: Path) -> Any:
        """A LoRA adapter of this model, loaded once and freed with it.

        Raises:
            EngineError: the library cannot load it.
        """
        if path not in self._adapters:
            _errors.clear()
            handle = native.llama_adapter_lora_init(self.handle, str(path).encode())
            if not handle:
                raise EngineError(f"cannot load the adapter {path}: {_last_error()}")
            self._adapters[path] = handle
        return self._adapters[path]

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a rendered prompt: special tokens are recognised, none is added but a BOS that is due.

        Raises:
            EngineError: the model was freed.
        """
        raw = text.encode("utf-8")
        room = len(raw) + 8
        ids = (native.llama_token * room)()
        with self._in_use:
            self._check_loaded()
            count = native.llama_tokenize(self._vocab, raw, len(raw), ids, room, False, True)
        if count < 0:
            raise EngineError(f"the tokenizer needs {-count} places for {len(raw)} bytes")
        tokens = list(ids[:count])
        if self.adds_bos and tokens[:1] != [self.bos]:
            tokens.insert(0, self.bos)
        return tokens

    def special(self, token: int) -> str:
        """The written form of a special token; empty where the model has none."""
        return native.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace") if token >= 0 else ""

    def piece(self, token: int) -> bytes:
        """Bytes that a token adds to the text; control tokens add none, but for the marks of a think block."""
        if token not in self._pieces:
            room = 64
            written = is_mark(self.special(token))
            while True:
                buffer = ctypes.create_string_buffer(room)
                count = native.llama_token_to_piece(self._vocab, token, buffer, room, 0, written)
                if count >= 0:
                    break
                room = -count
            self._pieces[token] = buffer.raw[:count]
        return self._pieces[token]

    def ends(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return bool(native.llama_vocab_is_eog(self._vocab, token))

    def grammar(self, text: str, start: str) -> Any:
        """A grammar's state at its start symbol.

        Raises:
            EngineError: the model was freed.
            UserError: the library cannot parse it.
        """
        with self._in_use:
            self._check_loaded()
            sampler = native.llama_sampler_init_grammar(self._vocab, text.encode("utf-8"), start.encode())
        if not sampler:
            raise UserError(f"llama.cpp refuses the grammar that begins {text[:80]!r}")
        return sampler

    def free(self) -> None:
        """Give the memory back. Safe to call twice."""
        with self._in_use:
            if self.handle:
                native.llama_model_free(self.handle)
            self.handle = None

    def _check_loaded(self) -> None:
        if not self.handle:
            raise EngineError("the engine is closed")


def _length_of_text() -> Any:
    """C's strlen as the library's abort callback: true while a text in memory is not empty.

    The library asks before every operation, thousands of times a step; a Python function would wait for the
    interpreter's lock each time.
    """
    try:
        return ctypes.cast(ctypes.CDLL(None).strlen, native.ggml_abort_callback)
    except (OSError, AttributeError, TypeError):  # a system whose C library is not that of the process
        return None


_LENGTH = _length_of_text()


class Context:
    """The key-value cache of up to `sequences` sequences, of `pool` cells in all, and the batch that fills it.

    Args:
        streams: each sequence has an equal part of the cells to itself, so that its attention reads no others'.
            Otherwise they share one pool, in which a prefix that several begin with is stored once.

    Raises:
        UserError: the cache does not fit into memory.
    """

    def __init__(
        self, model: Model, *, pool: int, sequences: int, batch: int, threads: int, streams: bool = False
    ) -> None:
        _errors.clear()
        options = native.llama_context_default_params()
        options.n_ctx = pool
        options.n_batch = options.n_ubatch = batch
        options.n_seq_max = sequences
        options.n_threads = options.n_threads_batch = threads
        options.kv_unified = not streams
        options.no_perf = True
        self._model, self._streams = model, streams
        self.handle = native.llama_init_from_model(model.handle, options)
        if not self.handle:
            raise UserError(f"llama.cpp cannot make a cache of {pool} tokens: {_last_error()}")
        self._memory = native.llama_get_memory(self.handle)
        self._batch = _Batch(batch)
        self._threads = threads
        self._adapter: Path | None = None
        self._stop_flag = ctypes.create_string_buffer(2)
        if _LENGTH is not None:
            native.llama_set_abort_callback(self.handle, _LENGTH, ctypes.cast(self._stop_flag, ctypes.c_void_p))

    def abort(self) -> None:
        """End the call of `decode` that is under way, and every later one, between two operations of the graph (on a
        CPU; a GPU's step runs to its end). From any thread."""
        self._stop_flag.value = b"x"

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads from the next call on."""
        if threads != self._threads:
            native.llama_set_n_threads(self.handle, threads, threads)
            self._threads = threads

    def use_adapter(self, path: Path | None) -> None:
        """Compute with this adapter, or with none, from the next call on."""
        if path == self._adapter:
            return
        handles = [self._model.adapter(path)] if path else []
        adapters = (native.llama_adapter_lora_p_ctypes * 1)(*handles)
        native.llama_set_adapters_lora(self.handle, adapters, len(handles), (ctypes.c_float * 1)(1.0))
        self._adapter = path

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence's tokens from position `start` on."""
        if not native.llama_memory_seq_rm(self._memory, sequence, start, -1):
            raise EngineError(f"this model's state cannot be cut back to position {start}")

    def copy(self, source: int, target: int, length: int) -> None:
        """Give the empty sequence `target` the first `length` tokens of `source`: its cells, or copies in a stream."""
        native.llama_memory_seq_cp(self._memory, source, target, 0, -1 if self._streams else length)
        if self._streams:  # a stream is copied whole
            self.forget(target, length)

    def clear(self) -> None:
        """Drop all sequences."""
        native.llama_memory_clear(self._memory, True)

    def decode(self, rows: Sequence[tuple[int, int, Sequence[int], bool]]) -> list[np.ndarray | None]:
        """Compute runs of tokens: (sequence, first position, tokens, whether the last one's logits are wanted).

        Returns:
            One entry a run: logits of shape (vocabulary,), float32, valid until the next call; None where not wanted.

        Raises:
            EngineError: the library failed; the state of the sequences is then unknown.
            Interrupted: `abort` was called.
        """
        _errors.clear()
        status = native.llama_decode(self.handle, self._batch.filled(rows))
        if self._stop_flag.value:
            raise Interrupted
        if status != 0:
            raise EngineError(f"llama.cpp failed with status {status} while decoding: {_last_error()}")
        last = np.cumsum([len(tokens) for _, _, tokens, _ in rows]) - 1
        return [self._logits(int(i)) if wanted else None for i, (*_, wanted) in zip(last, rows, strict=True)]

    def _logits(self, row: int) -> np.ndarray:
        pointer = native.llama_get_logits_ith(self.handle, row)
        return np.ctypeslib.as_array(pointer, shape=(self._model.n_vocab,))

    def free(self) -> None:
        """Give the memory back."""
        native.llama_free(self.handle)


class _Batch:
    """The C structure of one call, over numpy arrays that are filled run by run."""

    def __init__(self, size: int) -> None:
        self._token = np.zeros(size, np.int32)
        self._position = np.zeros(size, np.int32)
        self._sequence = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._one = np.ones(size, np.int32)
        step, base = self._sequence.itemsize, self._sequence.ctypes.data
        self._pointers = (base + step * np.arange(size)).astype(np.uintp)
        address = ctypes.POINTER(native.llama_seq_id)
        self._native = native.llama_batch(
            n_tokens=0,
            token=self._token.ctypes.data_as(ctypes.POINTER(native.llama_token)),
            pos=self._position.ctypes.data_as(ctypes.POINTER(native.llama_pos)),
            n_seq_id=self._one.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            seq_id=self._pointers.ctypes.data_as(ctypes.POINTER(address)),
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def filled(self, rows: Sequence[tuple[int, int, Sequence[int], bool]]) -> Any:
        """The structure with the runs in it."""
        start = 0
        for sequence, position, tokens, wanted in rows:
            end = start + len(tokens)
            self._token[start:end] = tokens
            self._position[start:end] = np.arange(position, position + len(tokens))
            self._sequence[start:end] = sequence
            self._wanted[start:end] = 0
            self._wanted[end - 1] = wanted
            start = end
        self._native.n_tokens = start
        return self._native

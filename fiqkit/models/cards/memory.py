"""The memory plan: what a line-up of models needs, held against what this machine has, before anything is loaded.

A model's need is its weights, its key-value cache for the contexts that it may hold at once, and working memory: a
twentieth of the weights and 256 MiB, for buffers of the computation and the runtime itself. Cards with the same weights
on the same engine count once.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, all_cards
from fiqkit.models.cards.geometry import Geometry, geometry_of_config, geometry_of_gguf, stated, text_config
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.weights import DEFAULT_CONTEXT, opened_context, stored_bytes, would_be

GIB = 2**30
_WORKING = 256 * 2**20
_LLAMA_POOL = 32768  # default cells of the llama_cpp engine for all its requests
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_SMALLEST_CONTEXT = 2048
_RESERVING = ("vllm", "vllm-server")
_VLLM_SHARE = 0.9  # of a GPU, where no `gpu_memory` is set


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that one model takes, and where: "ram", "gpu", or "elsewhere" for a server's."""

    name: str
    roles: tuple[str, ...]
    place: str
    weights: int
    cache: int
    adapters: int
    working: int
    tokens: int  # what the cache is sized for

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.cache + self.adapters + self.working


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes that are free now: main memory, and the GPUs together; what the GPUs hold in all, and how many they are."""

    ram: int
    gpu: int = 0
    gpu_total: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Needs of a line-up against a machine. `advice` says what would fit when it does not."""

    needs: tuple[Need, ...]
    machine: Machine
    advice: str = ""

    def required(self, place: str) -> int:
        """Bytes needed in "ram" or "gpu"."""
        return sum(need.total for need in self.needs if need.place == place)

    @property
    def fits(self) -> bool:
        """Whether both memories suffice."""
        return self.required("ram") <= self.machine.ram and self.required("gpu") <= self.machine.gpu

    def lines(self) -> list[str]:
        """The plan for people, a line a model and one for each memory."""
        rows = [
            f"{need.name}: {_gib(need.weights)} weights + {_gib(need.cache)} cache of {need.tokens:,} tokens"
            + (f" + {_gib(need.adapters)} adapters" if need.adapters else "")
            + f" + {_gib(need.working)} working = {_gib(need.total)} {need.place} ({', '.join(need.roles)})"
            for need in self.needs
            if need.place != "elsewhere"
        ]
        served = [
            f"{need.name}: on a server ({', '.join(need.roles)})" for need in self.needs if need.place == "elsewhere"
        ]
        sums = [
            f"{label}: {_gib(self.required(place))} of {_gib(free)} free"
            for place, label, free in (("ram", "memory", self.machine.ram), ("gpu", "GPU memory", self.machine.gpu))
            if self.required(place)
        ]
        return rows + served + sums

    def check(self) -> None:
        """Refuse what does not fit.

        Raises:
            UserError: names both numbers and what would fit.
        """
        for place, label, free in (("gpu", "GPU memory", self.machine.gpu), ("ram", "memory", self.machine.ram)):
            if self.required(place) > free:
                names = ", ".join(need.name for need in self.needs if need.place == place)
                raise UserError(
                    f"{names}: {_gib(self.required(place))} of {label} needed, {_gib(free)} free; {self.advice}"
                )


def plan(
    roles: Mapping[str, Card] | Sequence[Card],
    settings: Mapping[str, Any] | None = None,
    *,
    machine: Machine | None = None,
) -> Plan:
    """The memory plan of a line-up.

    Args:
        roles: the card that plays each role, or just the cards.
        settings: the engine settings that the run gives to all of them (`context`, `parallel`, `pool`, `dtype`).
        machine: what there is (default: this machine, now).

    Raises:
        UserError: a file of weights whose header cannot be read.
    """
    given = settings or {}
    cards = list(roles.items()) if isinstance(roles, Mapping) else [("model", card) for card in roles]
    here = machine or this_machine()
    needs = _needs(cards, given, here)
    made = Plan(needs, here)
    return made if made.fits else replace(made, advice=_advice(cards, given, here))


def _needs(cards: Sequence[tuple[str, Card]], settings: Mapping[str, Any], here: Machine) -> tuple[Need, ...]:
    played: dict[tuple[str, str, str], list[str]] = {}
    first: dict[tuple[str, str, str], Card] = {}
    adapters: dict[tuple[str, str, str], set[str]] = {}
    for role, card in cards:
        key = (card.engine, card.weights, card.model)
        played.setdefault(key, []).append(role)
        first.setdefault(key, card)
        adapters.setdefault(key, set()).update({card.adapter} - {""})
    return tuple(
        _need(card, tuple(dict.fromkeys(played[key])), {**card.settings, **settings}, adapters[key], here)
        for key, card in first.items()
    )


def _need(card: Card, roles: tuple[str, ...], settings: Mapping[str, Any], adapters: Set[str], here: Machine) -> Need:
    if isinstance(would_be(card), str):
        return Need(card.name, roles, "elsewhere", 0, 0, 0, 0, 0)
    place = "gpu" if here.gpus and _uses_gpu(card) else "ram"
    facts = describe_weights(card)
    tokens = _TOKENS[card.engine](settings.get("context") or facts.context, settings)
    weights, width = facts.bytes, 2
    if card.engine == "transformers":
        width = _BYTES.get(settings.get("dtype", "auto"), 2 if place == "gpu" else 4)
        weights = facts.values * width if facts.values else facts.bytes
    elif card.weights.endswith(".gguf") and card.engine.startswith("vllm") and settings.get("kind") != "llama.cpp":
        weights = facts.values * width  # vLLM is given the file's weights dequantised
    sequences = int(settings.get("parallel", 8)) if card.engine == "transformers" else 1
    cached = facts.geometry.values(tokens, sequences, windows=card.engine != "llama_cpp")
    per_token = facts.geometry.values(1) * width
    need = Need(
        name=card.name,
        roles=roles,
        place=place,
        weights=weights,
        cache=cached * width,
        adapters=sum(stored_bytes(Path(path)) for path in adapters),
        working=weights // 20 + _WORKING,
        tokens=tokens,
    )
    if place == "gpu" and card.engine in _RESERVING and per_token:
        spare = max(0, _reserved(settings, here) - need.total) // per_token
        need = replace(need, cache=need.cache + spare * per_token, tokens=tokens + spare)
    return need


def _reserved(settings: Mapping[str, Any], here: Machine) -> int:
    """Bytes that vLLM takes at its start, whatever the model: its share of each GPU that it runs on."""
    share = float(settings.get("gpu_memory", _VLLM_SHARE))
    return int(share * here.gpu_total * min(1.0, int(settings.get("tensor_parallel", 1)) / here.gpus))


def _llama_tokens(context: int, settings: Mapping[str, Any]) -> int:
    most = context * settings.get("parallel", 8)
    return max(context, settings.get("pool") or (most if settings.get("streams") else min(most, _LLAMA_POOL)))


def _batch_tokens(context: int, settings: Mapping[str, Any]) -> int:
    return context * int(settings.get("parallel", 8))


def _one_context(context: int, _: Mapping[str, Any]) -> int:
    """vLLM starts if one request of full length fits, and fills what else it is granted."""
    return context


# How many tokens an engine's cache holds for a context and its settings.
_TOKENS: dict[str, Callable[[int, Mapping[str, Any]], int]] = {
    "llama_cpp": _llama_tokens,
    "transformers": _batch_tokens,
    "vllm": _one_context,
    "vllm-server": _one_context,
    "openai": _one_context,
}


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """What the plan needs of a model: bytes as stored, number of values where known, cache geometry, context."""

    bytes: int
    values: int
    geometry: Geometry
    context: int


def describe_weights(card: Card) -> WeightFacts:
    """From the files where they are here, from the card where not, or where it states the geometry.

    Raises:
        UserError: a GGUF header or configuration that cannot be read, or a model whose cache is not known.
    """
    path = Path(would_be(card))
    size = stored_bytes(path) if path.exists() else card.size
    values = round(card.parameters * 1e9)
    if card.layers or not path.exists():
        plain = Geometry.plain(card.layers, card.kv_heads, card.head_dim)
        return WeightFacts(size, values, plain, card.context or DEFAULT_CONTEXT)
    try:
        return _of_gguf(path, size, values, card) if path.is_file() else _of_folder(path, size, card)
    except UserError as error:
        raise UserError(f"{card.name}: {error}") from None


def _of_gguf(path: Path, size: int, values: int, card: Card) -> WeightFacts:
    header = read_header(path)
    trained = header.get(f"{header.get('general.architecture', '')}.context_length")
    return WeightFacts(size, values, geometry_of_gguf(header), opened_context(card, trained))


def _of_folder(path: Path, size: int, card: Card) -> WeightFacts:
    file = path / "config.json"
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        whole = None
    if not isinstance(whole, dict):
        raise UserError(f"{file} cannot be read; give a folder in Hugging Face's layout")
    config = text_config(whole)
    stored = _BYTES.get(config.get("dtype") or config.get("torch_dtype") or "bfloat16", 2)
    quantised = "quantization_config" in whole or "quantization_config" in config
    return WeightFacts(
        bytes=size,
        values=0 if quantised else size // stored,
        geometry=geometry_of_config(config, expands_latent=card.engine == "transformers"),
        context=opened_context(card, stated(config, "context")),
    )


def _advice(cards: Sequence[tuple[str, Card]], settings: Mapping[str, Any], here: Machine) -> str:
    """Shares or smaller settings with which the same models fit; failing that, cards that do."""
    if shares := _shares(cards, settings, here):
        return shares
    context = min((settings.get("context") or card.context for _, card in cards), default=0)
    while context >= _SMALLEST_CONTEXT:
        smaller = {**settings, "context": context, "parallel": 1, "pool": context, "gpu_memory": 0.0}
        if (tried := Plan(_needs(cards, smaller, here), here)).fits:
            size = tried.required("gpu") + tried.required("ram")
            return f"would fit: context {context}, parallel 1 ({_gib(size)})"
        context //= 2
    wanted = {role for role, _ in cards}
    names = [card.name for card in all_cards().values() if wanted & {*card.roles, "model"} and _fits_alone(card, here)]
    return f"would fit one at a time: {', '.join(names)}" if names else "no card fits; use a server (engine openai)"


def _shares(cards: Sequence[tuple[str, Card]], settings: Mapping[str, Any], here: Machine) -> str:
    """The share of the GPU that each vLLM model needs at least, where these fit together."""
    least = Plan(_needs(cards, {**settings, "gpu_memory": 0.0}, here), here)
    engines = {card.name: card.engine for _, card in cards}
    reserving = [need for need in least.needs if need.place == "gpu" and engines[need.name] in _RESERVING]
    if not least.fits or not reserving:
        return ""
    shares = [f"{need.name} {math.ceil(100 * need.total / here.gpu_total) / 100:.2f}" for need in reserving]
    return f"would fit: gpu_memory of at least {', '.join(shares)} in their cards"


def _fits_alone(card: Card, here: Machine) -> bool:
    smallest = {"context": _SMALLEST_CONTEXT, "parallel": 1, "pool": _SMALLEST_CONTEXT, "gpu_memory": 0.0}
    return Plan(_needs([("model", card)], smallest, here), here).fits


def this_machine() -> Machine:
    """Main memory that is free within the container's limit, and free GPU memory where there is a GPU."""
    gpus = _gpu_memory()
    ram = min(_ram_available(), _container_available())
    return Machine(ram, sum(free for free, _ in gpus), sum(total for _, total in gpus), len(gpus))


def _ram_available() -> int:
    try:
        table = Path("/proc/meminfo").read_text()
    except OSError:
        return 1 << 62  # no such table on this system: nothing to refuse by
    line = next(line for line in table.splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def _container_available() -> int:
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except (OSError, ValueError):
        return 1 << 62
    return 1 << 62 if limit == "max" else max(0, int(limit) - used)


@cache
def _has_driver() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidiactl").exists()


def _gpu_memory() -> list[tuple[int, int]]:
    """Free and total bytes of each GPU; asks torch only where there is a driver, since its import takes seconds."""
    if not _has_driver():
        return []
    import torch

    if not torch.cuda.is_available():
        return []
    return [torch.cuda.mem_get_info(i) for i in range(torch.cuda.device_count())]


def _uses_gpu(card: Card) -> bool:
    """Whether the engine would use a GPU that is there: llama.cpp only where it was built for one."""
    if card.engine != "llama_cpp" or importlib.util.find_spec("llama_cpp") is None:
        return True
    import llama_cpp

    return bool(llama_cpp.llama_supports_gpu_offload())


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"

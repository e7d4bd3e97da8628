"""What this machine has for the kit's work, what is missing, and the command that brings it.

    fiqkit doctor
    ready   python       3.11.7
    absent  nvidia gpu   none; small models run on the processor …

A finding says how its lack weighs: `absent` is an option that this machine does not have, `usable` a part of the main
job that does not work, `not` something without which nothing does. The machine is as well as its worst finding.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fiqkit import __version__, bench_data, offline
from fiqkit.errors import UserError
from fiqkit.models import ENGINES
from fiqkit.models.cards.cards import Card, all_cards, find_card
from fiqkit.models.cards.memory import this_machine
from fiqkit.models.cards.weights import fingerprint, stored_bytes, weight_files, would_be

READY, ABSENT, USABLE, NOT = "ready", "absent", "usable", "not"
EXIT_CODES = {READY: 0, USABLE: 1, NOT: 2}

PYTHONS = ((3, 11), (3, 14))  # from, below
DEFAULT_MODEL = "smollm2-135m"
_GIB = 2**30
_MAIN_JOB = ("", "local", "embed")  # the extras that the main job needs; the rest are options
_HASHED = 4 * _GIB  # larger weights are hashed when a run records them; a doctor should not take minutes

# package → the extra that brings it, "" for what nothing works without
_PACKAGES = {
    "click": "",
    "numpy": "",
    "sqlite-utils": "",
    "aiohttp": "",
    "llama-cpp-python": "local",
    "faiss-cpu": "embed",
    "sentence-transformers": "embed",
    "torch": "embed",
    "transformers": "probe",
    "bitsandbytes": "probe",
    "trl": "train",
    "vllm": "vllm",
}
# What has code compiled for one kind of processor, loaded in a child so that only the child dies of it.
_NATIVE = {
    "numpy": "import numpy; numpy.ones((8, 8)) @ numpy.ones((8, 8))",
    "llama_cpp": "import llama_cpp; llama_cpp.llama_backend_init()",
    "faiss": "import faiss; faiss.IndexFlatIP(8)",
    "torch": "import torch; torch.ones(8, 8) @ torch.ones(8, 8)",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what was found, how its lack weighs, and the command or step that mends it."""

    what: str
    state: str
    found: str
    mend: str = ""


def examine(cards: Path | None = None) -> list[Finding]:
    """Look at everything. Nothing is changed; children are started to see what would crash.

    Raises:
        UserError: a file of cards that cannot be read.
    """
    weights = list(_weights(cards))  # first, since nothing need be looked at where its cards cannot be read
    looks = (_python, _compiler, _processor, _native_code, _packages, _gpu, _engines, _benchmark, _disk, _memory)
    return [*(finding for look in looks for finding in look()), *weights, *_offline()]


def overall(findings: list[Finding]) -> str:
    """The worst state among the findings: ready, usable or not. What is merely absent leaves a machine ready."""
    states = {finding.state for finding in findings}
    return next((state for state in (NOT, USABLE) if state in states), READY)


def _python() -> Iterator[Finding]:
    low, high = PYTHONS
    right = low <= sys.version_info[:2] < high
    mend = "" if right else f"use Python {low[0]}.{low[1]} to {high[0]}.{high[1] - 1}"
    found = f"{platform.python_version()} at {sys.executable}; fiqkit {__version__}"
    yield Finding("python", READY if right else NOT, found, mend)


def _compiler() -> Iterator[Finding]:
    program = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    if program:
        yield Finding("c++ compiler", READY, str(shutil.which(program)))
    elif _version("llama-cpp-python"):
        yield Finding("c++ compiler", READY, "none, and none is needed: llama.cpp is built already")
    else:
        yield Finding("c++ compiler", USABLE, "none; llama.cpp cannot be built", "apt-get install g++")


def _processor() -> Iterator[Finding]:
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    flags: set[str] = set()
    name = platform.processor() or platform.machine()
    for line in _text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            flags |= set(value.split())
        elif key.strip() == "model name":
            name = value.strip()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    has = ", ".join(flag for flag in wanted if flag in flags) or "no AVX"
    yield Finding("processor", READY, f"{name}, {cores} cores ({has}); OMP_NUM_THREADS {threads}")


def _native_code() -> Iterator[Finding]:
    for module, code in _NATIVE.items():
        if not _importable(module):
            continue
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            yield Finding(f"{module} runs", READY, "loaded in a child")
            continue
        crashed = done.returncode < 0
        why = f"killed by signal {-done.returncode}" if crashed else (done.stderr.strip().splitlines() or ["?"])[-1]
        if done.returncode == -4:
            why = "an illegal instruction: it was built for another processor"
        rebuild = f"pip install --force-reinstall --no-binary :all: {module.replace('_cpp', '-cpp-python')}"
        yield Finding(f"{module} runs", NOT, why, rebuild if module == "llama_cpp" else f"reinstall {module}")


def _packages() -> Iterator[Finding]:
    tried = constraints()
    for package, extra in _PACKAGES.items():
        here, wanted = _version(package), tried.get(package, "")
        how = f'pip install -c constraints.txt "fiqkit[{extra}]"' if extra else "pip install -c constraints.txt fiqkit"
        if here is None:
            weighs = NOT if not extra else USABLE if extra in _MAIN_JOB else ABSENT
            yield Finding(package, weighs, "not installed", how)
        elif wanted and here.partition("+")[0] != wanted:
            yield Finding(
                package, USABLE if extra in _MAIN_JOB else ABSENT, f"{here}; {wanted} was tried with this kit", how
            )
        else:
            yield Finding(package, READY, here)


def constraints() -> dict[str, str]:
    """Package → version of the set that was tried together."""
    lines = _text(Path(__file__).with_name("constraints.txt")).splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {name.strip().replace("_", "-").lower(): number.strip() for name, number in pairs}


def _gpu() -> Iterator[Finding]:
    program = shutil.which("nvidia-smi")
    query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    done = subprocess.run([program, *query], capture_output=True, text=True) if program else None
    if done is None or done.returncode:
        why = "none" if done is None else f"nvidia-smi fails: {(done.stderr or done.stdout).strip()[:80]}"
        yield Finding("nvidia gpu", ABSENT, f"{why}; small models run on the processor, QLoRA and vLLM want a GPU")
    else:
        for line in done.stdout.strip().splitlines():
            yield Finding("nvidia gpu", READY, line)


def _engines() -> Iterator[Finding]:
    for name, entry in ENGINES.items():
        here = entry.installed()
        found, mend = ("importable", "") if here else ("not installed", entry.install)
        yield Finding(f"engine {name}", READY if here else ABSENT, found, mend)


def _benchmark() -> Iterator[Finding]:
    files = (bench_data.INSTANCES, bench_data.PASSAGES, bench_data.INDEX / "manifest.json")
    missing = [path.name for path in files if not path.exists()]
    found = f"missing {', '.join(missing)}" if missing else str(bench_data.INSTANCES.parent)
    yield Finding("bundled benchmark", NOT if missing else READY, found, "reinstall fiqkit" if missing else "")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(Path.cwd()).free
    enough = free >= 2 * _GIB
    mend = "" if enough else "free some space, or work in another folder"
    yield Finding("disk", READY if enough else USABLE, f"{free / _GIB:.1f} GiB free in {Path.cwd()}", mend)


def _memory() -> Iterator[Finding]:
    free = this_machine().ram
    enough = free >= 2 * _GIB
    mend = "" if enough else "close other programs"
    yield Finding("memory", READY if enough else USABLE, f"{free / _GIB:.1f} GiB free", mend)


def _weights(cards: Path | None) -> Iterator[Finding]:
    """Every card whose weights are here, with size and hash; the default model whether they are or not."""
    for card in all_cards(cards).values():
        place = would_be(card)
        if isinstance(place, Path) and place.exists() and weight_files(place):
            yield _stored(card, place)
    default = find_card(DEFAULT_MODEL, cards)
    place = would_be(default)
    if isinstance(place, Path) and not place.exists():
        yield Finding(f"model {DEFAULT_MODEL}", USABLE, f"no weights at {place}", 'pip install "fiqkit[local]"')


def _stored(card: Card, place: Path) -> Finding:
    size = stored_bytes(place)
    try:
        digest = fingerprint(place)[:16] if size <= _HASHED else "hashed when used"
    except (OSError, UserError) as error:
        return Finding(f"model {card.name}", USABLE, f"{place} cannot be read: {error}", "check the file's rights")
    return Finding(f"model {card.name}", READY, f"{size / _GIB:.2f} GiB, sha256 {digest}, {place}")


def _offline() -> Iterator[Finding]:
    state = offline.state()
    hosts = ", ".join(state["allowed_hosts"]) or "none"
    yield Finding("offline", READY, f"connections off this machine are refused; hosts allowed: {hosts}")
    code = "from fiqkit import offline; offline.isolate()"
    can = subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    found = "a network namespace can be had" if can else "this system gives no network namespace"
    yield Finding("--isolate", READY if can else ABSENT, found, "" if can else "run as root, or allow user namespaces")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _importable(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""

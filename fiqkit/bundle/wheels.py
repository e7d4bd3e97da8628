"""The wheels of a bundle, fetched by pip for the machine that will use them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

from fiqkit import __version__
from fiqkit.errors import UserError

# llama.cpp without a single instruction that some x86-64 processor lacks, or one that only the building machine has.
_PORTABLE = " ".join(f"-DGGML_{name}=OFF" for name in ("NATIVE", "AVX", "AVX2", "AVX512", "FMA", "F16C", "BMI2"))
_BUILT_HERE = ("llama-cpp-python",)  # packages that exist as source alone
_LEGACY = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that the bundle is for.

    Attributes:
        python: its version, such as "3.11".
        arch: "x86_64" or "aarch64".
        glibc: minor version of its C library (28 for 2.28): wheels for it and for older ones fit.
    """

    python: str = f"{sys.version_info[0]}.{sys.version_info[1]}"
    arch: str = "x86_64"
    glibc: int = 28

    @property
    def platforms(self) -> list[str]:
        """The tags that pip knows such a machine by, newest first."""
        tags = []
        for minor in range(self.glibc, 4, -1):
            tags.append(f"manylinux_2_{minor}_{self.arch}")
            if minor in _LEGACY:
                tags.append(f"{_LEGACY[minor]}_{self.arch}")
        return [*tags, f"linux_{self.arch}"]


def fetch(folder: Path, extras: Sequence[str], target: Target, constraints: Path, say: Callable[[str], None]) -> None:
    """Fill `folder` with the wheels of `fiqkit[extras]` and all that they need. Wheels that are there are not fetched.

    Source distributions are built first and on this machine, since pip builds nothing for another platform.

    Raises:
        UserError: pip cannot build or find a wheel; the last line that it said is named.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = _source_tree()
    say("wheel of fiqkit itself")
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(source))
    for package in _BUILT_HERE:
        if package in needed(extras) and not list(folder.glob(f"{package.replace('-', '_')}-*.whl")):
            say(f"building {package} for any {target.arch}: 5 to 15 minutes")
            # No cache: a wheel in it may be tuned to this processor.
            options = ("--no-deps", "--no-cache-dir", "--no-binary", package, "-c", str(constraints))
            _pip("wheel", *options, "--wheel-dir", str(folder), package, CMAKE_ARGS=_PORTABLE)
    say("wheels of everything else")
    wanted = f"fiqkit[{','.join(extras)}]=={__version__}"
    tags = [f"--platform={tag}" for tag in target.platforms]
    at = (f"--python-version={target.python}", "--implementation=cp", "--only-binary=:all:", *tags)
    _pip("download", *at, "--find-links", str(folder), "-c", str(constraints), "--dest", str(folder), wanted)


def needed(extras: Sequence[str]) -> list[str]:
    """Names of the packages that fiqkit asks for by itself and with these extras.

    Raises:
        UserError: an extra that there is not.
    """
    from packaging.requirements import Requirement

    known = metadata("fiqkit").get_all("Provides-Extra") or []
    if unknown := [extra for extra in extras if extra not in known]:
        raise UserError(f"--extras: fiqkit has no extra {unknown[0]!r}; it has {', '.join(known)}")
    names = []
    for text in distribution("fiqkit").requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            names.append(requirement.name)
    return sorted(set(names))


def installed_size(extras: Sequence[str]) -> int:
    """Bytes that the packages and all that they need take when installed, as far as they are here."""
    from packaging.requirements import Requirement

    todo, seen, size = needed(extras), set[str](), 0
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        size += sum(file.size or 0 for file in found.files or ())
        requirements = map(Requirement, found.requires or [])
        todo += [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    return size


def _source_tree() -> Path:
    root = Path(__file__).parents[2]
    if not (root / "setup.cfg").is_file():
        raise UserError(f"{root}: fiqkit is installed without its source; run `fiqkit bundle` from a clone of it")
    return root


def _pip(command: str, *arguments: str, **variables: str) -> None:
    call = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", env={**os.environ, **variables})
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise UserError(f"pip {command} failed: {(errors or ['it said nothing'])[-1][:300]}")

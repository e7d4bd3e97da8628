"""A GGUF file is opened by a child before it is opened here: what the library ends its process on ends the child.

llama.cpp reports most damage, and aborts on the rest, which no caller can catch. The trial costs a second or so and one
reading of the file, once: a file that passed is remembered by its hash and the library's version.

    python -m fiqkit.models.local.trial FILE.gguf
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from fiqkit import offline
from fiqkit.errors import UserError
from fiqkit.models.cards.formats import check_header
from fiqkit.models.cards.weights import cache_folder, fingerprint, stored_bytes, weight_files
from fiqkit.models.opening import abandoned
from fiqkit.whole_file import write_text

_REFUSED = 3  # exit code: the library said what is wrong, and says it again in this process
_CONTEXT = 64  # tokens
_PATIENCE, _SLOWEST = 60.0, 20e6  # seconds for any file, and bytes a second of a slow disk


def try_to_open(who: str, path: Path) -> None:
    """Have a child load the file and compute one token.

    Raises:
        UserError: a damaged header; the child died or did not come to an end.
    """
    import llama_cpp

    try:
        for file in weight_files(path):
            check_header(file)
    except UserError as error:
        raise UserError(f"{who}: {error}") from None
    passed = cache_folder() / "opened" / f"{fingerprint(path)[:32]}-{llama_cpp.__version__}"
    if passed.is_file():
        return
    code = _trial(who, path)
    if code < 0 or code > 128:
        raise UserError(
            f"{who}: llama.cpp {llama_cpp.__version__} dies of {path} (signal {-code if code < 0 else code - 128}); "
            "the file is damaged, or needs another version: fetch it again"
        )
    if code == 0:
        write_text(passed, "")


def _trial(who: str, path: Path) -> int:
    """The child's exit code."""
    command = [sys.executable, "-m", "fiqkit.models.local.trial", str(path)]
    until = time.monotonic() + _PATIENCE + stored_bytes(path) / _SLOWEST
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
    try:
        while True:
            try:
                code: int = child.wait(0.1)
                return code
            except subprocess.TimeoutExpired:
                if abandoned():
                    return _REFUSED
                if time.monotonic() > until:
                    raise UserError(
                        f"{who}: llama.cpp does not come to an end with {path}; it is damaged, fetch it again"
                    ) from None
    finally:
        child.kill()
        child.wait()


def main() -> None:
    """Load the file named on the command line; exit code 3 where the library refuses it with words."""
    offline.enforce()
    from fiqkit.models.engine import EngineError
    from fiqkit.models.local.llama_native import Context, Model

    try:
        model = Model("trial", Path(sys.argv[1]), 0)
        context = Context(model, pool=_CONTEXT, sequences=1, batch=_CONTEXT, threads=1)
        context.decode([(0, 0, [max(0, model.bos)], True)])
    except (UserError, EngineError):
        sys.exit(_REFUSED)


if __name__ == "__main__":
    main()

"""Files written beside their place and moved there: whoever looks sees the old or the new one, never half of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fiqkit.errors import UserError


@contextmanager
def written_whole(path: Path, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """A path beside `path` to write to; it is moved to `path` when the block ends, and removed when the block fails.

    Args:
        inputs: files that are being read; none of them is written over.

    Raises:
        UserError: `path` is one of the inputs or a folder, or cannot be written; the old file stays whole.
    """
    for file in inputs:
        if file.exists() and path.exists() and file.samefile(path):
            raise UserError(f"{path}: is read here, and would be lost; write to another file")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file in it")
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
        scratch.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); name another file") from error
    finally:
        scratch.unlink(missing_ok=True)

"""Files written beside their place and moved there: whoever looks sees the old or the new one, never half of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fiqkit.errors import UserError


@contextmanager
def written_whole(path: Path, inputs: Iterable[Path] = ()) -> Iterator[Path]:
    """A path beside `path` to write to; it is moved to `path` when the block ends, and removed when the block fails.

    A full disk or a killed process thus leaves the old file as it was. A link is followed, so that it stays one; what
    is no regular file (a pipe, /dev/stdout) is written as it is.

    Args:
        inputs: files that are being read; none of them is written over.

    Raises:
        UserError: `path` is one of the inputs or a folder, or cannot be written; the old file stays whole.
    """
    refuse_overwriting([path], inputs)
    target = path.resolve()
    scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        check_file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield scratch
            if target.exists():
                shutil.copymode(target, scratch)
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); what was there is as it was"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all, as `written_whole` does."""
    with written_whole(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def check_file(path: Path) -> None:
    """Refuse a path that no file can be written to, before the work that would fill it.

    Raises:
        UserError: a folder is there, or the folder that it would stand in cannot be written.
    """
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file")
    _check_parent(path)


def check_folder(path: Path) -> None:
    """Refuse a path that no folder can be at, before the work that would fill it.

    Raises:
        UserError: a file is there, or the folder cannot be written.
    """
    if path.exists() and not path.is_dir():
        raise UserError(f"{path}: is a file; name a folder")
    _check_parent(path / "file")


def _check_parent(path: Path) -> None:
    there = next(parent for parent in path.absolute().parents if parent.exists())
    if not there.is_dir():
        raise UserError(f"{path}: {there} is a file; name another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{path}: nothing can be written in {there}; name another place, or mend its permissions")


def refuse_overwriting(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse to write over what is read, by whatever name, link or folder it is reached.

    Args:
        written: files to write.
        read: files that are read, and folders whose files are.

    Raises:
        UserError: names the file.
    """
    there = {identity(path): path for path in written if path.exists()}
    for file in (file for path in read for file in _files(path) if there):
        if identity(file) in there:
            lost = there[identity(file)]
            raise UserError(f"{lost}: would be lost: it would be written over while {file} is read; name another place")


def identity(path: Path) -> tuple[int, int]:
    """What is the same for two names of one file: device and inode."""
    found = path.stat()
    return found.st_dev, found.st_ino


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (inside for inside in path.rglob("*") if inside.is_file())
    elif path.exists():
        yield path

"""Compressed files that are cut or altered: what reading them raises, and a stream that makes one line of it.

Only the reading itself is guarded, so that a fault of this kit's own is never taken for a damaged file.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from typing import Any

from fiqkit.errors import UserError

DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    ValueError,
    KeyError,  # a member that the directory lists under another name
    NotImplementedError,  # a compression method that does not exist
    RuntimeError,  # a flag that says the member is encrypted
)


def reason(error: BaseException) -> str:
    """What an error says, in one line of at most 120 characters."""
    return " ".join(str(error).split())[:120] or type(error).__name__


class Guarded(io.RawIOBase):
    """A binary stream whose every fault is a `UserError` that names the file."""

    def __init__(self, stream: Any, where: str) -> None:
        self._stream = stream
        self._where = where

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """As far as the stream behind it is."""
        return bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a byte; a compressed stream reads up to it."""
        try:
            return int(self._stream.seek(offset, whence))
        except DAMAGE as error:
            raise self._fault(error) from error

    def tell(self) -> int:
        """The byte that comes next."""
        return int(self._stream.tell())

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer; 0 at the end."""
        try:
            data = self._stream.read(len(buffer))
        except DAMAGE as error:
            raise self._fault(error) from error
        buffer[: len(data)] = data
        return len(data)

    def _fault(self, error: Exception) -> UserError:
        return UserError(f"{self._where}:1: damaged, cannot be unpacked ({reason(error)}); download the file again")

"""What a GGUF file says of itself in its header, without loading it: architecture, layers, context, shapes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from fiqkit.errors import UserError

# Value type → struct code, in the order of the format's enumeration; 8 is a string and 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_WIDTHS = {0: 4, 1: 2, 30: 2}  # bytes of a number of unquantised tensors: F32, F16, BF16
_SHORT = 4096  # entries of an array whose numbers are kept: those of layers, not those of a vocabulary
_LONGEST = 1 << 27  # bytes of one string, or entries of one array, that a sound file may hold


def read_header(path: Path) -> dict[str, Any]:
    """Keys and values of a GGUF header; of an array of up to 4,096 numbers a tuple, of another one its length.

        read_header(Path("smollm2.gguf"))["llama.attention.head_count_kv"]  # 3

    Raises:
        UserError: not a GGUF file, or one that ends within its header.
    """
    with path.open("rb") as stream, _damage_named(path):
        return _pairs(stream, path)[0]


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors, the fastest axis first, as the format has them: (inputs, outputs) of a linear layer.

        read_shapes(Path("smollm2.gguf"))["blk.0.attn_k.weight"]  # (576, 192)

    Raises:
        UserError: not a GGUF file, or one that ends before its last tensor begins; of unquantised ones, ends.
    """
    with path.open("rb") as stream, _damage_named(path):
        header, tensors = _pairs(stream, path)
        shapes, last = {}, 0
        for _ in range(tensors):
            name = _string(stream)
            (axes,) = _unpack(stream, "I")
            shapes[name] = _unpack(stream, f"{min(axes, 8)}Q")
            kind, offset = _unpack(stream, "IQ")
            last = max(last, offset + max(1, prod(shapes[name]) * _WIDTHS.get(kind, 0)))
        align = header.get("general.alignment", 32)
        if not isinstance(align, int) or align < 1:
            raise struct.error("damaged")
        if shapes and -(-stream.tell() // align) * align + last > path.stat().st_size:
            raise struct.error("cut")
        return shapes


def _pairs(stream: BinaryIO, path: Path) -> tuple[dict[str, Any], int]:
    """The keys and values, and how many tensors follow."""
    if stream.read(4) != b"GGUF":
        raise UserError(f"{path} is not a GGUF file; give the .gguf file of the model")
    version, tensors, count = _unpack(stream, "IQQ")
    if version not in (2, 3):
        raise UserError(f"{path}: GGUF version {version}; versions 2 and 3 are read")
    return {_string(stream): _value(stream, _unpack(stream, "I")[0]) for _ in range(count)}, tensors


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (struct.error, UnicodeDecodeError, KeyError, OverflowError):
        raise UserError(f"{path}: the GGUF header is cut or damaged; fetch the file again") from None


def _unpack(stream: BinaryIO, codes: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{codes}", stream.read(struct.calcsize(f"<{codes}")))


def _string(stream: BinaryIO) -> str:
    return _bytes(stream).decode("utf-8")


def _bytes(stream: BinaryIO) -> bytes:
    (length,) = _unpack(stream, "Q")
    content = stream.read(min(length, _LONGEST))
    if len(content) != length:
        raise struct.error("cut")
    return content


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(stream)
    if kind == _ARRAY:
        return _array(stream)
    return _unpack(stream, _SCALARS[kind])[0]


def _array(stream: BinaryIO) -> Any:
    """The numbers of a short array; of another one, read past, how many entries it has."""
    kind, count = _unpack(stream, "IQ")
    if count > _LONGEST:
        raise struct.error("damaged")
    if kind == _STRING:
        for _ in range(count):
            _bytes(stream)
        return int(count)
    if count <= _SHORT:
        return _unpack(stream, f"{count}{_SCALARS[kind]}")
    stream.seek(count * struct.calcsize(f"<{_SCALARS[kind]}") - 1, 1)
    if not stream.read(1):
        raise struct.error("cut")
    return int(count)

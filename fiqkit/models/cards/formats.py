"""The two formats that weights are read from, safetensors and GGUF. Everything else is refused by name, since reading a
pickle may run code, and a header is read within bounds before any library sees the file.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.models.cards.gguf_header import read_shapes

WEIGHTS = (".safetensors", ".gguf")
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_LONGEST_HEADER = 100 * 2**20  # bytes; the safetensors format's own bound


def check_formats(who: str, place: Path) -> None:
    """Refuse weights that are only there as a pickle, and a folder without any.

    Raises:
        UserError: names the file and the way to safetensors.
    """
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    if any(file.suffix in WEIGHTS for file in files):
        return
    if pickled := next((file for file in files if file.suffix in PICKLED), None):
        raise UserError(
            f"{who}: {pickled} is a pickle, whose reading could run code; convert it to safetensors (load it where you "
            "trust it, then save_pretrained)"
        )
    if place.is_dir():
        raise UserError(f"{who}: {place} holds no safetensors or GGUF; fetch the weights too")


def check_adapter(folder: Path) -> None:
    """Refuse a LoRA adapter that is none, is pickled or is damaged, before a library sees it.

    Raises:
        UserError: names the file.
    """
    try:
        config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict):
        raise UserError(f"no adapter at {folder}; expected a folder with adapter_config.json, or a GGUF file of one")
    check_formats("the adapter", folder)
    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise UserError(f"{folder}: holds no adapter_model.safetensors; copy it there too")
    read_safetensors(weights)


def check_header(path: Path) -> None:
    """Read the header of a file of weights within bounds.

    Raises:
        UserError: damaged, cut, or not what its name says.
    """
    if path.suffix == ".gguf":
        read_shapes(path)
    elif path.suffix == ".safetensors":
        read_safetensors(path)


def read_safetensors(path: Path) -> dict[str, dict[str, Any]]:
    """The header of a safetensors file: tensor → its "dtype", "shape" and "data_offsets".

        read_safetensors(Path("model.safetensors"))["lm_head.weight"]
        # {"dtype": "BF16", "shape": [320, 32], "data_offsets": [0, 20480]}

    Raises:
        UserError: cut, damaged, or not as long as its header says.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise UserError(f"{path}: the safetensors header is cut or damaged; fetch the file again")
        try:
            header = json.loads(stream.read(length))
            header.pop("__metadata__", None)
            ends = [_end(tensor) for tensor in header.values()]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError(f"{path}: the safetensors header is damaged; fetch the file again") from None
    if max(ends, default=0) != size - 8 - length:
        raise UserError(f"{path}: the file is not as long as its header says; fetch it again")
    return dict(header)


def _end(tensor: dict[str, Any]) -> int:
    """Where a tensor's bytes end.

    Raises:
        ValueError: its extents are no numbers of elements.
    """
    _, end = tensor["data_offsets"]
    if any(type(number) is not int or number < 0 for number in (*tensor["data_offsets"], *tensor["shape"])):
        raise ValueError("not a number of elements")
    return int(end)

"""How much of a loaded model is really quantised."""

from __future__ import annotations

from typing import Any


def quantised_share(model: Any) -> float:
    """Share of a module's parameters that are held in 4 bits; fused experts of a mixture often are not."""
    packed = plain = 0
    for parameter in model.parameters():
        if type(parameter).__name__ == "Params4bit":
            packed += 2 * parameter.numel() * parameter.element_size()  # two to a byte
        else:
            plain += parameter.numel()
    return packed / (packed + plain) if packed else 0.0

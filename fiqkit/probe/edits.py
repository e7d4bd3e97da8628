"""Changing the residual stream while a model runs: every position, at the points that are named, for as long as a block
runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fiqkit.probe.capture import decoder_of

Edit = Callable[[Any], Any]  # states, a tensor (batch, time, width), before → after


@contextmanager
def edited(model: Any, edits: Mapping[int, Edit]) -> Iterator[None]:
    """Replace the residual stream at each point by its edit: point 0 is what the first layer reads, point k what layer
    k writes."""
    layers = decoder_of(model).layers

    def before(edit: Edit) -> Callable[..., Any]:
        return lambda _module, args, kwargs: (
            ((edit(args[0]), *args[1:]), kwargs)
            if args
            else (args, {**kwargs, "hidden_states": edit(kwargs["hidden_states"])})
        )

    def after(edit: Edit) -> Callable[..., Any]:
        return lambda _module, _args, output: (
            (edit(output[0]), *output[1:]) if isinstance(output, tuple) else edit(output)
        )

    handles = [
        layers[point - 1].register_forward_hook(after(edit))
        if point
        else layers[0].register_forward_pre_hook(before(edit), with_kwargs=True)
        for point, edit in edits.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()

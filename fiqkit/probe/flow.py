"""Profiles that the FinInteract release publishes, to be laid over one's own.

One JSON object a model, of which this is read (a value a point, the embedding first):

    {"depth_flow": {"n_layers": 37, "ambiguous_vs_disambiguated_separation_by_layer": [0.0, 1.165, 1.525, …],
                    "peak_separation_layer": 35}}

Their separation is raw: the difference of mean projections in the layer's own units, which grows with the norm of the
residual stream. The last point is after the final norm. What they call layers counts the embedding.
"""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from fiqkit.errors import UserError


def read_flow(path: Path) -> tuple[str, list[float]]:
    """(model, as the file is called; its raw separation by point, the embedding first).

    Raises:
        UserError: no such file, or no profile of two points or more in it.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["depth_flow"]
        raw = [float(value) for value in found["ambiguous_vs_disambiguated_separation_by_layer"]]
        if len(raw) < 2 or not all(map(isfinite, raw)):
            raise ValueError("a finite number a point is needed, and two points or more")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: no published profile can be read ({error}); give a file of the release's flow folder"
        ) from error
    return path.name.removesuffix(".json"), raw

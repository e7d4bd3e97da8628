"""What a model's hidden states tell of the ambiguity before adapters were trained on it, and after.

Items, prompts, folds and seed are the same throughout, and only the weights differ. Every change is paired: it is held
against those that come of letting before and after change places, all items of a company together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fiqkit.models.cards.weights import fingerprint
from fiqkit.probe.analysis import Findings, analyse
from fiqkit.probe.checkpoint import check_adapter
from fiqkit.probe.direction import separation_of
from fiqkit.probe.folds import Floats, company_signs, p_value
from fiqkit.probe.items import Items, bag_of_words, lengths
from fiqkit.probe.ridge import auroc
from fiqkit.probe.study import CHANGED, Prepared, Progress, Say, analysed, captured
from fiqkit.whole_file import write_text

FILE = "before-after.json"
_SWAPS = 2000


def before_after(ready: Prepared, adapters: Mapping[str, Path], say: Say, progress: Progress) -> dict[str, Any]:
    """The base without an adapter and with each of `adapters`, by name; kept in the output folder, and read back.

    Returns:
        {"items", "companies", "pair", "baseline" (of the pair's accuracy), "stages": the base and the adapters,
        "controls": what the words of the prompts and their lengths tell by themselves, "manifest"}. A stage:

        {"stage": "sft", "separation": SD between Q and Q + C, "accuracy": of the pair from Q, "auroc": each category
         against the rest from Q, mean, "one_vs_rest": {name: AUROC},
         "change": {"separation": {"difference", "p"}, "accuracy": …, "auroc": …}}

        Layers are nested: each fold's is picked on the others. p is two-sided. The base has no change.

    Raises:
        UserError: an adapter for another base; too little memory.
    """
    path = ready.settings.out / FILE
    hashes = {name: fingerprint(folder) for name, folder in adapters.items()}
    manifest = {**ready.manifest, "layers": ready.points, "adapters": hashes}
    if (known := _read(path)).get("manifest") == manifest:
        say(f"probe read back from {path}")
        return known
    for folder in adapters.values():
        check_adapter(folder, ready.checkpoint)
    found: dict[str, Findings] = {}
    for name, adapter in {"base": None, **adapters}.items():
        folder_name = f"states-{name}" if adapter else "states"
        states = captured(ready, folder_name, adapter, say, progress, CHANGED)
        found[name] = analysed(ready, f"probe of {name}", states, progress, thorough=False)
    items = ready.items
    base = found["base"]
    result = {
        "items": len(items),
        "companies": len(set(items.clusters)),
        "pair": list(items.pair),
        "baseline": base.pair.baseline,
        "stages": [
            {"stage": name, **_numbers(one)} | ({"change": _changes(items, base, one)} if name != "base" else {})
            for name, one in found.items()
        ],
        "controls": [{"control": name, **_numbers(one)} for name, one in _controls(ready).items()],
        "manifest": manifest,
    }
    write_text(path, json.dumps(result, ensure_ascii=False, indent=1))
    return result


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _controls(ready: Prepared) -> dict[str, Findings]:
    counts = {condition: [len(prompt) for prompt in prompts] for condition, prompts in ready.ids.items()}
    sources = {"words": bag_of_words(ready.prompts.texts), "length": lengths(ready.prompts.texts, counts)}
    draws = ready.settings.permutations
    return {name: analyse(ready.items, one, permutations=draws, thorough=False) for name, one in sources.items()}


def _numbers(found: Findings) -> dict[str, Any]:
    each = {name: decoding.auroc for name, decoding in found.rest.items()}
    return {
        "separation": found.contrasts["ambiguity"].nested,
        "accuracy": found.pair.accuracy,
        "auroc": sum(each.values()) / len(each),
        "one_vs_rest": each,
    }


# --- changes --------------------------------------------------------------------------------------------------------


def _changes(items: Items, before: Findings, after: Findings) -> dict[str, dict[str, float]]:
    everyone, in_pair = items.clusters, [items.clusters[i] for i in items.in_pair]
    truth = [items.primary == name for name in before.rest]

    def mean_auroc(rankings: Floats) -> Floats:
        areas = [auroc(one, np.broadcast_to(t[:, None], one.shape)) for one, t in zip(rankings, truth, strict=True)]
        mean: Floats = np.mean(areas, axis=0)
        return mean

    gaps, right, rankings = ([of(found) for found in (before, after)] for of in (_gaps, _right, _rankings))
    return {
        "separation": change(lambda at: separation_of(at[0], at[1]), gaps[0], gaps[1], everyone, items.seed),
        "accuracy": change(lambda of: of[0].mean(axis=0), right[0], right[1], in_pair, items.seed),
        "auroc": change(mean_auroc, rankings[0], rankings[1], everyone, items.seed),
    }


def _gaps(found: Findings) -> Floats:
    at = found.contrasts["ambiguity"].at_nested
    return np.stack([at["a"], at["b"]])


def _right(found: Findings) -> Floats:
    return found.pair.right[None].astype(np.float64)


def _rankings(found: Findings) -> Floats:
    return np.stack([decoding.ranking for decoding in found.rest.values()])


def change(
    measure: Callable[[Floats], Floats], before: Floats, after: Floats, clusters: list[str], seed: int
) -> dict[str, float]:
    """A measure after minus before, and its two-sided p when companies change places between the two (Fisher, 1935).

    Args:
        measure: of values (k, n, draws), for each draw.
        before, after: k values of each of n items, (k, n).
        clusters: the company of each item.
    """
    was, now = before[..., None], after[..., None]
    stays = company_signs(clusters, _SWAPS, seed).T > 0  # (n, draws)
    null = measure(np.where(stays, now, was)) - measure(np.where(stays, was, now))
    difference = float(measure(now)[0] - measure(was)[0])
    return {"difference": difference, "p": p_value(abs(difference), np.abs(null))}

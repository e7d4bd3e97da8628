"""The controls as numbers: what is left of a finding once length, added text, words, company or language is fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fiqkit.probe.analysis import Findings
from fiqkit.probe.direction import BOOTSTRAPS, Profile, separation_of
from fiqkit.probe.folds import Floats, company_weights, sign_flip_p
from fiqkit.probe.items import Items
from fiqkit.probe.ridge import auroc

FLIPS = 2000

Numbers = dict[str, Any]


def contrast(items: Items, profile: Profile) -> Numbers:
    """A direct contrast: its own direction, learned and tried on the two kinds of prompt."""
    a, b = profile.at_nested["a"], profile.at_nested["b"]
    return {
        "peak_layer": profile.peak,
        "separation": float(profile.separation[profile.peak]),
        "p_holm": float(profile.p_holm[profile.peak]),
        "nested_separation": profile.nested,
        "nested_band": list(profile.nested_band),
        "auroc": _two_way_auroc(a, b),
    }


def against(items: Items, states: Findings, name: str, words: Findings, lengths: Findings) -> Numbers:
    """How much of the way from Q + C back to Q another kind of added text leaves a state, along the direction.

    `retained` is 1 where the other text leaves the state with Q (then only C moves it) and 0 where it moves the state
    as far as C does (then any such text would).
    """
    at = states.contrasts["ambiguity"].at_nested
    left, whole = at[name] - at["b"], at["a"] - at["b"]
    low, high = _ratio_band(left, whole, items)
    direct = states.contrasts[name]
    return {
        "retained": float(left.mean() / whole.mean()) if whole.mean() else 0.0,
        "retained_band": [low, high],
        "separation": float(separation_of(at[name], at["b"])),
        "p": sign_flip_p(left, items.clusters, FLIPS, items.seed),
        "direct": contrast(items, direct),
        "words_auroc": contrast(items, words.contrasts[name])["auroc"],
        "length_auroc": contrast(items, lengths.contrasts[name])["auroc"],
    }


def paraphrase(items: Items, states: Findings) -> Numbers:
    """The direction of the original wording tried on reworded questions with and without C."""
    at = states.contrasts["ambiguity"].at_nested
    reworded, whole = at["paraphrase"] - at["paraphrase_context"], at["a"] - at["b"]
    low, high = _ratio_band(reworded, whole, items)
    return {
        "retained": float(reworded.mean() / whole.mean()) if whole.mean() else 0.0,
        "retained_band": [low, high],
        "separation": float(separation_of(at["paraphrase"], at["paraphrase_context"])),
        "p": sign_flip_p(reworded, items.clusters, FLIPS, items.seed),
    }


def features_only(items: Items, states: Findings, other: Findings) -> Numbers:
    """A source without a model (words, lengths) on the same folds, and what the states hold beyond it."""
    gain = states.pair.right.astype(float) - other.pair.right
    clusters = np.asarray(items.clusters)[items.in_pair].tolist()
    weights = company_weights(clusters, BOOTSTRAPS, items.seed)
    resampled = weights @ gain / weights.sum(axis=1)
    return {
        "accuracy": other.pair.accuracy,
        "auroc": other.pair.auroc,
        "p": other.pair.p,
        "one_vs_rest": {name: decoding.auroc for name, decoding in other.rest.items()},
        "states_minus_this": float(gain.mean()),
        "states_minus_this_band": [float(v) for v in np.percentile(resampled, [2.5, 97.5])],
        "p_states_better": sign_flip_p(gain, clusters, FLIPS, items.seed),
        "direction_auroc": contrast(items, other.contrasts["ambiguity"])["auroc"],
    }


def cross_language(items: Items, states: Findings) -> Numbers | None:
    """What was learned on the other languages, tried on each; None where the set has one language."""
    if states.transfer_direction is None:
        return None
    at = states.transfer_direction.at_nested
    found: Numbers = {}
    for language, decoding in states.transfer.items():
        here = items.language == language
        a, b = at["a"][here], at["b"][here]
        clusters = [c for c, inside in zip(items.clusters, here, strict=True) if inside]
        found[language] = {
            "items": int(here.sum()),
            "direction": {
                "separation": float(separation_of(a, b)),
                "auroc": _two_way_auroc(a, b),
                "p": sign_flip_p(a - b, clusters, FLIPS, items.seed),
            },
            "category": {
                "accuracy": decoding.accuracy,
                "baseline": decoding.baseline,
                "auroc": decoding.auroc,
                "p": decoding.p_auroc,
            },
        }
    return found


def cross_company(states: Findings) -> Numbers:
    """The pair decoded on companies not seen before, and when a company may lie on both sides of the split."""
    assert states.leaky is not None
    return {
        "new_companies": states.pair.accuracy,
        "known_companies": states.leaky.accuracy,
        "difference": states.leaky.accuracy - states.pair.accuracy,
    }


def size_matched(states: Findings) -> Numbers:
    """AUROC by category when every category is as rare as the rarest, with the middle 95% of the samples."""
    return {
        name: {"auroc": float(values.mean()), "interval": [float(v) for v in np.percentile(values, [2.5, 97.5])]}
        for name, values in states.matched.items()
    }


def all_controls(items: Items, states: Findings, words: Findings, lengths: Findings) -> Numbers:
    """Every control by name."""
    return {
        "neutral": against(items, states, "neutral", words, lengths),
        "mismatched": against(items, states, "mismatched", words, lengths),
        "paraphrase": paraphrase(items, states),
        "bag_of_words": features_only(items, states, words),
        "length": features_only(items, states, lengths),
        "cross_company": cross_company(states),
        "cross_language": cross_language(items, states),
        "size_matched": size_matched(states),
    }


def _two_way_auroc(a: Floats, b: Floats) -> float:
    scores = np.concatenate([a, b])[:, None]
    positive: NDArray[np.bool_] = np.arange(len(scores))[:, None] < len(a)
    return float(auroc(scores, positive)[0])


def _ratio_band(part: Floats, whole: Floats, items: Items) -> tuple[float, float]:
    """95% bootstrap interval over companies of mean(part) ÷ mean(whole)."""
    weights = company_weights(items.clusters, BOOTSTRAPS, items.seed)
    below = weights @ whole
    ratio = (weights @ part)[below != 0] / below[below != 0]
    low, high = np.percentile(ratio, [2.5, 97.5]) if len(ratio) else (0.0, 0.0)
    return float(low), float(high)

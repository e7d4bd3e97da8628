"""What is planted is found where it was planted; where nothing is, nothing is reported beyond the stated level."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tiny_models import make_instances

from fiqkit.metrics.significance import holm
from fiqkit.probe import controls
from fiqkit.probe.analysis import Findings, analyse
from fiqkit.probe.claims import FAILS, SURVIVES, UNTESTED, claims
from fiqkit.probe.direction import DirectionFit, products
from fiqkit.probe.items import Items
from fiqkit.probe.prompts import CONDITIONS

ITEMS = Items.of(make_instances(30), folds=5)
LAYERS, WIDTH = 8, 24


@dataclass
class Made:
    """States drawn at random, with whatever a test writes into them."""

    states: dict[str, np.ndarray]
    points: int = LAYERS

    def layer(self, point: int) -> dict[str, np.ndarray]:
        return {condition: values[point] for condition, values in self.states.items()}


def noise(seed: int, items: Items = ITEMS, layers: int = LAYERS, company: float = 1.0) -> Made:
    """Each state is its company's own pattern, so many times unit variance, and noise of unit variance."""
    rng = np.random.default_rng(seed)
    companies = {name: company * rng.standard_normal((layers, WIDTH)) for name in sorted(set(items.clusters))}
    shared = np.stack([companies[c] for c in items.clusters], axis=1)
    return Made({c: (shared + rng.standard_normal(shared.shape)).astype(np.float32) for c in CONDITIONS}, layers)


def run(made: Made, seed_of_words: int = 999, **options: object) -> tuple[Findings, dict]:
    findings = analyse(ITEMS, made, permutations=400, **options)
    blank = analyse(ITEMS, noise(seed_of_words, layers=1), permutations=100, thorough=False)
    return findings, controls.all_controls(ITEMS, findings, blank, blank)


def verdicts(findings: Findings, checked: dict) -> list[str]:
    profile, pair = findings.contrasts["ambiguity"], findings.pair
    direction = {
        "peak_layer": profile.peak,
        "peak_depth": profile.peak / (LAYERS - 1),
        "separation": float(profile.separation[profile.peak]),
        "p_holm": float(profile.p_holm[profile.peak]),
        "nested_separation": profile.nested,
        "peak_band": profile.peak_band,
        "raw_peak_depth": int(np.argmax(profile.raw)) / (LAYERS - 1),
        "raw_over_norm_peak_depth": int(np.argmax(profile.raw / findings.norms)) / (LAYERS - 1),
        "norm_growth": float(findings.norms[-1] / findings.norms[0]),
    }
    adjusted = holm([d.p_auroc for d in findings.rest.values()])
    category = {name: getattr(pair, name) for name in ("p", "accuracy", "shuffled", "baseline")}
    category |= {"pair": ITEMS.pair, "ceiling": 1.0}
    category["one_vs_rest"] = {
        name: {"auroc": d.auroc, "p_holm": p} for (name, d), p in zip(findings.rest.items(), adjusted, strict=True)
    }
    return [
        c.verdict
        for c in claims({"layers": LAYERS - 1, "direction": direction, "category": category, "controls": checked})
    ]


def planted(seed: int, layer: int, moves: dict[str, float]) -> Made:
    """A unit direction of one layer, added to some conditions by so much."""
    made = noise(seed)
    unit = np.random.default_rng(seed + 1).standard_normal(WIDTH)
    for condition, amount in moves.items():
        made.states[condition][layer] += (amount * unit / np.linalg.norm(unit)).astype(np.float32)
    return made


AMBIGUOUS = {"plain": 3.0, "neutral": 3.0, "mismatched": 3.0, "paraphrase": 3.0}


def test_a_planted_ambiguity_direction_is_found_at_its_layer_and_survives_every_control() -> None:
    findings, checked = run(planted(3, 5, AMBIGUOUS))
    profile = findings.contrasts["ambiguity"]
    assert profile.peak == 5 and profile.peak_band == (5, 5) and profile.nested_layers == [5] * 5
    assert profile.p_holm[5] <= 0.05 and (np.delete(profile.p_holm, 5) > 0.05).all()
    # Noise of unit variance from company and item each: 3 ÷ √2, less what the estimated direction misses.
    assert 1.6 < profile.separation[5] < 2.6
    assert abs(profile.nested - profile.separation[5]) < 0.3
    assert checked["neutral"]["retained"] == pytest.approx(1.0, abs=0.2)
    assert verdicts(findings, checked)[:6] == [SURVIVES] * 6


def test_where_any_added_text_moves_the_state_the_controls_say_so() -> None:
    findings, checked = run(planted(4, 5, {"plain": 3.0, "paraphrase": 3.0}))
    assert findings.contrasts["ambiguity"].peak == 5
    assert abs(checked["neutral"]["retained"]) < 0.25 and abs(checked["mismatched"]["retained"]) < 0.25
    found = verdicts(findings, checked)
    assert found[0] == SURVIVES and found[4] == SURVIVES
    assert found[1:4] == [FAILS, FAILS, FAILS]


@pytest.mark.slow
def test_half_of_an_effect_is_called_weakened_not_surviving() -> None:
    findings, checked = run(planted(5, 2, {"plain": 4.0, "neutral": 1.6, "mismatched": 4.0, "paraphrase": 4.0}))
    assert checked["neutral"]["retained"] == pytest.approx(0.4, abs=0.15)
    assert verdicts(findings, checked)[1] == "weakened"


def test_a_planted_category_is_found_at_its_layer() -> None:
    made = noise(6)
    made.states["plain"][6, ITEMS.primary == ITEMS.pair[0], 3] += 6.0
    findings, checked = run(made)
    assert findings.pair.layers == [6] * 5 and findings.pair.layer == 6
    assert findings.pair.accuracy > 0.8 and findings.pair.p <= 1 / 400
    assert int(np.argmax(findings.pair.by_layer)) == 6
    assert findings.rest[ITEMS.pair[0]].auroc > 0.75
    assert all(found["category"]["p"] <= 0.05 for found in checked["cross_language"].values())
    assert checked["bag_of_words"]["states_minus_this"] > 0.2


@pytest.mark.slow
def test_a_category_that_is_only_a_companys_fingerprint_does_not_reach_new_companies() -> None:
    """Each company asks about one category, and its states are its own: only companies already known are decoded."""
    kinds = dict(zip(sorted(set(ITEMS.clusters)), ["entity_scope", "metric_definition"] * 15, strict=True))
    items = Items.of([replace(i, categories=(kinds[i.cluster],)) for i in ITEMS.instances])
    findings = analyse(items, noise(7, items, company=3.0), permutations=100)
    assert findings.pair.p > 0.05
    assert findings.leaky is not None and findings.leaky.accuracy > findings.pair.accuracy + 0.2


@pytest.mark.slow
def test_nothing_planted_nothing_reported_over_200_seeds() -> None:
    """The share of seeds with a finding stays within what .05 allows: 18 of 200 has a probability of .01 at .05."""
    items = ITEMS
    direction = category = surviving = 0
    for seed in range(200):
        findings = analyse(items, noise(1000 + seed, layers=6), permutations=240, thorough=False)
        direction += bool((findings.contrasts["ambiguity"].p_holm <= 0.05).any())
        category += findings.pair.p <= 0.05
        surviving += min(holm([d.p_auroc for d in findings.rest.values()])) <= 0.05
    assert direction <= 18 and category <= 18 and surviving <= 18


@pytest.mark.slow
def test_without_a_finding_its_controls_are_not_tested() -> None:
    findings, checked = run(noise(11))
    found = verdicts(findings, checked)
    assert found[0] == FAILS and found[1:6] == [UNTESTED] * 5
    assert found[6] == FAILS and found[7:10] == [UNTESTED] * 3


def test_permutation_statistic_equals_relabelling_and_recomputing() -> None:
    """The sign flips, done on the n × n matrix, against swapping the states themselves."""
    made, clusters = planted(8, 0, AMBIGUOUS), ITEMS.clusters
    a, b = made.states["plain"][0], made.states["context"][0]
    fit = DirectionFit(ITEMS.folds, ITEMS.folds, clusters, permutations=5, seed=1)
    null = fit.fit(products(a, b)).null
    for row, signs in enumerate(fit._signs):
        swap = (signs < 0)[:, None]
        one, two = np.where(swap, b, a), np.where(swap, a, b)
        again = DirectionFit(ITEMS.folds, ITEMS.folds, clusters, permutations=0)
        assert null[row] == pytest.approx(again.fit(products(one, two)).null[0], abs=1e-4)


def test_separation_equals_the_definition() -> None:
    made = planted(9, 0, AMBIGUOUS)
    a, b = made.states["plain"][0], made.states["context"][0]
    on_a, on_b = np.zeros(len(ITEMS)), np.zeros(len(ITEMS))
    for fold in np.unique(ITEMS.folds):
        held_in, held_out = ITEMS.folds != fold, ITEMS.folds == fold
        unit = (a[held_in] - b[held_in]).mean(0)
        unit /= np.linalg.norm(unit)
        middle = np.concatenate([a[held_in], b[held_in]]).mean(0)
        on_a[held_out], on_b[held_out] = (a[held_out] - middle) @ unit, (b[held_out] - middle) @ unit
    expected = (on_a.mean() - on_b.mean()) / np.sqrt((on_a.var(ddof=1) + on_b.var(ddof=1)) / 2)
    fit = DirectionFit(ITEMS.folds, ITEMS.folds, ITEMS.clusters, permutations=0)
    fit.take(fit.fit(products(a, b)))
    profile = fit.profile()
    assert profile.separation[0] == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(profile.projections["a"][0], on_a, atol=1e-4)

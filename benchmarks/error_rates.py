"""Do the intervals cover, and do the tests err as seldom as they say? By computation and simulation, at the edges too.

    python benchmarks/error_rates.py            # about six minutes of one core; --quick for a tenth of the samples

For each interval the least and the mean coverage over its conditions, by the number of items n: the nominal level is
.95. For each test the share of false alarms at level .05, at worst over its conditions, and the chance of any false
alarm among 76 comparisons under Holm. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.stats import binom

from fiqkit.metrics.agreement import agreement, macro_f1, macro_f1_interval
from fiqkit.metrics.bootstrap import paired_p, resampled_sums
from fiqkit.metrics.calibration import expected_calibration_error
from fiqkit.metrics.corrected import Instrument, prediction_powered, rogan_gladen
from fiqkit.metrics.intervals import Nesting, bounded_interval, share_interval
from fiqkit.metrics.scored import Scored
from fiqkit.metrics.significance import exact_mcnemar, holm, sign_flip_p
from fiqkit.records import Ending

SIZES = (8, 20, 50, 173)
RATES = (0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95)
DRAWS = 600  # of an interval that is drawn: enough for coverage, fewer than a report takes
Rng = np.random.Generator
Ends = list[float] | None


# --- shares: coverage computed over a grid of rates -----------------------------------------------------------------


def computed(ends: Callable[[int, int], Ends], n: int) -> tuple[float, float]:
    """Least and mean coverage of an interval of hits of n, over rates from .001 to .999."""
    low, high = np.array([ends(hits, n) for hits in range(n + 1)]).T
    rates = np.linspace(0.001, 0.999, 999)
    covered = [binom.pmf(np.arange(n + 1), n, p)[(low <= p) & (p <= high)].sum() for p in rates]
    return float(min(covered)), float(np.mean(covered))


def wilson(hits: int, n: int) -> Ends:
    z = 1.959964
    centre, half = (hits + z * z / 2) / (n + z * z), z / (n + z * z) * np.sqrt(hits * (n - hits) / n + z * z / 4)
    return [centre - half, centre + half]


def percentile(hits: int, n: int) -> Ends:
    return [float(end) for end in binom.ppf([0.025, 0.975], n, hits / n) / n]  # the bootstrap of a share, exactly


# --- the others: coverage by simulation -----------------------------------------------------------------------------


def simulated(
    draw: Callable[[Rng, float], tuple[float, Ends]], rates: tuple[float, ...], trials: int
) -> tuple[float, float]:
    """Least and mean coverage over rates; `draw` gives the truth and an interval for it (None: left out)."""
    covered = []
    for rate in rates:
        rng = np.random.default_rng(round(1000 * rate))
        found = [draw(rng, rate) for _ in range(trials)]
        hits = [ends[0] - 1e-9 <= truth <= ends[1] + 1e-9 for truth, ends in found if ends is not None]
        covered += [float(np.mean(hits))] if hits else []
    return min(covered), float(np.mean(covered))


def bits(n: int) -> Callable[[Rng, float], tuple[float, Ends]]:
    """DisE+: entropy over questions where right, 0 elsewhere."""
    entropies, asks = np.array([1, 1.585, 2, 3.585]), np.arange(1, 6)

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        values = rng.choice(entropies, n) / rng.choice(asks, n) * (rng.random(n) < rate)
        return rate * entropies.mean() * (1 / asks).mean(), bounded_interval(
            values, np.ones(n), 0, 3.585, resamples=DRAWS
        )

    return draw


def difference(n: int) -> Callable[[Rng, float], tuple[float, Ends]]:
    """Paired difference of two accuracies; the second side gains `rate` and loses a third of that."""

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        gain, loss = rate * 0.75, rate * 0.25
        changes = rng.choice([1.0, -1.0, 0.0], n, p=[gain, loss, 1 - gain - loss])
        return gain - loss, bounded_interval(changes, np.ones(n), -1, 1, resamples=DRAWS)

    return draw


def clustered(n: int, samples: int = 1) -> Callable[[Rng, float], tuple[float, Ends]]:
    """Accuracy where companies of one to five items lean together, and items, if there are several samples, too."""

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        companies = rng.integers(0, max(3, n // 3), n)
        lean = rng.beta(rate * 2, (1 - rate) * 2, companies.max() + 1)[companies]
        item = rng.beta(lean * 4 + 1e-9, (1 - lean) * 4 + 1e-9) if samples > 1 else lean
        right = (rng.random((samples, n)) < item).astype(float).T.ravel()
        levels = [np.repeat(companies, samples), np.repeat(np.arange(n), samples), np.arange(n * samples)]
        nesting = Nesting.of(*(level.tolist() for level in levels[: 3 if samples > 1 else 1]))
        return rate, bounded_interval(right, np.ones(len(right)), 0, 1, nesting=nesting, resamples=DRAWS)

    return draw


def scored(number: int, right: bool, confidence: float) -> Scored:
    golds = ("intended", True, False) if right else ("other", False, False)
    return Scored(
        *("r", "m", "interact", "rules", "rules", f"{number}", "en", ("entity_scope",), 1.0, f"{number}"),
        Ending.ANSWERED,
        *golds,
        confidence=confidence,
    )


def calibration(n: int) -> Callable[[Rng, float], tuple[float, Ends]]:
    """ECE of an agent that says 30 to 95 and is right at a rate of its own: the truth is that of the bins it used."""

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        stated = rng.choice([30.0, 50.0, 70.0, 90.0, 95.0], n, p=[0.05, 0.1, 0.15, 0.4, 0.3])
        found = expected_calibration_error(
            [scored(i, rng.random() < rate, c) for i, c in enumerate(stated)], seed=int(rng.integers(1 << 30))
        )
        bins = np.minimum((stated / 20).astype(int), 4)
        truth = sum(abs((rate - stated[bins == b] / 100).sum()) for b in np.unique(bins)) / n
        return float(truth), found["ece_ci"]

    return draw


LABELS = ("a", "b", "c", "d", "e")
MARGINALS = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def coders(n: int, name: str) -> Callable[[Rng, float], tuple[float, Ends]]:
    """Two coders of five labels who agree at `rate` and draw anew where they do not."""

    def pairs(rng: Rng, rate: float, size: int) -> tuple[list[str], list[str]]:
        one = rng.choice(LABELS, size, p=MARGINALS)
        two = np.where(rng.random(size) < rate, one, rng.choice(LABELS, size, p=MARGINALS))
        return one.tolist(), two.tolist()

    known: dict[float, float] = {}

    def truth(rate: float) -> float:
        if rate not in known:
            one, two = pairs(np.random.default_rng(0), rate, 200_000)
            if name == "macro_f1":
                known[rate] = macro_f1([[x] for x in one], [[x] for x in two], LABELS) or 0.0
            else:
                known[rate] = agreement(one, two)[name]
        return known[rate]

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        one, two = pairs(rng, rate, n)
        if name == "macro_f1":
            return truth(rate), macro_f1_interval([[x] for x in one], [[x] for x in two], LABELS, resamples=DRAWS)
        return truth(rate), agreement(one, two, resamples=DRAWS)[f"{name}_ci"]

    return draw


def corrected(n: int, how: str) -> Callable[[Rng, float], tuple[float, Ends]]:
    """173 answers, a grader of sensitivity .95 and specificity .97; n of them ruled on at random, or n / 2 a kind."""

    def draw(rng: Rng, rate: float) -> tuple[float, Ends]:
        truth = rng.random(173) < rate
        given = np.where(truth, rng.random(173) < 0.95, rng.random(173) > 0.97)
        ruled = [(bool(given[i]), bool(truth[i])) for i in rng.permutation(173)[:n]]
        if how == "prediction-powered":
            return rate, prediction_powered(int(given.sum()), 173, ruled)[1]
        half = n // 2
        known = Instrument(int(rng.binomial(half, 0.95)), half, int(rng.binomial(half, 0.97)), half)
        instrument = Instrument.of(ruled) if how == "random" else known
        return rate, None if instrument.refusal else rogan_gladen(int(given.sum()), 173, instrument)[1]

    return draw


def intervals(trials: int) -> Iterator[tuple[str, dict[int, tuple[float, float]]]]:
    for name, ends in (("Clopper-Pearson", share_interval), ("Wilson", wilson), ("percentile bootstrap", percentile)):
        yield name, {n: computed(ends, n) for n in SIZES}
    drawn: dict[str, Callable[[int], Callable[[Rng, float], tuple[float, Ends]]]] = {
        "bits resolved a question": bits,
        "paired difference": difference,
        "share, companies whole": clustered,
        "share, three samples": lambda n: clustered(n, 3),
        "ECE": calibration,
    }
    for name, make in drawn.items():
        yield name, {n: simulated(make(n), RATES, trials) for n in SIZES}
    for name in ("kappa", "gwet_ac1", "macro_f1"):
        yield name, {n: simulated(coders(n, name), (0.5, 0.8, 0.95), trials) for n in SIZES}
    for how in ("prediction-powered", "random", "balanced"):
        name = how if how.startswith("pred") else f"Rogan-Gladen, {how} rulings"
        rates = (0.02, 0.1, 0.3)
        yield name, {n: simulated(corrected(n, how), rates, trials) for n in (20, 60, 120)}


# --- tests ----------------------------------------------------------------------------------------------------------


def pairs_without_difference(rng: Rng, n: int, discordant: float) -> np.ndarray:
    return rng.choice([1.0, -1.0, 0.0], n, p=[discordant / 2, discordant / 2, 1 - discordant])


def percentile_p(changes: np.ndarray, resamples: int) -> float:
    """The plain bootstrap p, which may be 0."""
    sums = resampled_sums(np.sort(changes), resamples)[:, 0]
    return min(1.0, 2 * min(float(np.mean(sums <= 1e-9)), float(np.mean(sums >= -1e-9))))


def false_alarms(trials: int) -> Iterator[tuple[str, dict[int, float]]]:
    rates = (0.005, 0.02, 0.05, 0.2)

    def worst(p_value: Callable[[Rng, int, float], float], n: int) -> float:
        shares = []
        for rate in rates:
            rng = np.random.default_rng(round(1000 * rate))
            shares.append(np.mean([p_value(rng, n, rate) <= 0.05 for _ in range(trials)]))
        return float(max(shares))

    def mcnemar(rng: Rng, n: int, rate: float) -> float:
        changes = pairs_without_difference(rng, n, rate)
        return exact_mcnemar(int((changes > 0).sum()), int((changes < 0).sum()))

    def companies(exact: bool) -> Callable[[Rng, int, float], float]:
        def p_value(rng: Rng, n: int, rate: float) -> float:
            owners = rng.integers(0, max(2, n // 3), n)
            leans = rng.choice([-1.0, 1.0], owners.max() + 1)[owners]  # a company's items change the same way
            changes = leans * (rng.random(n) < rate)
            if exact:
                return sign_flip_p(changes, [f"{o}" for o in owners])
            return exact_mcnemar(int((changes > 0).sum()), int((changes < 0).sum()))

        return p_value

    cases = {
        "exact McNemar": mcnemar,
        "signs of companies, items of one lean together": companies(True),
        "exact McNemar, items of one lean together": companies(False),
        "bootstrap p": lambda rng, n, rate: paired_p(pairs_without_difference(rng, n, rate), resamples=500),
    }
    for name, p_value in cases.items():
        yield name, {n: worst(p_value, n) for n in SIZES}


def family(trials: int, comparisons: int = 76) -> dict[str, float]:
    """Chance of any false alarm in a table of so many comparisons of 173 pairs, rates near zero, under Holm."""
    rng = np.random.default_rng(5)
    wrong = {"exact": 0, "bootstrap": 0}
    for _ in range(trials):
        rates = rng.choice([0.005, 0.01, 0.02, 0.05], comparisons)
        changes = [pairs_without_difference(rng, 173, rate) for rate in rates]
        exact = [exact_mcnemar(int((c > 0).sum()), int((c < 0).sum())) for c in changes]
        wrong["exact"] += min(holm(exact)) <= 0.05
        wrong["bootstrap"] += min(holm([percentile_p(c, 2_000) for c in changes])) <= 0.05
    return {name: count / trials for name, count in wrong.items()}


def family_of_sides(trials: int, sides: int = 13) -> float:
    """The same for a table as a report has it: every two of 13 sides, which share items and companies, 76 at most.

    No side is better: each gets an item right with the item's own chance, near zero, which a company's items share.
    Each comparison's p is that of companies' signs.
    """
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(trials):
        owners = rng.integers(0, 61, 173)
        chance = rng.beta(0.3, 6, 61)[owners]
        right = rng.random((sides, 173)) < chance
        names = [f"{o}" for o in owners]
        p = [sign_flip_p(right[a].astype(float) - right[b], names) for a, b in combinations(range(sides), 2)][:76]
        wrong += min(holm(p)) <= 0.05
    return wrong / trials


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    trials = 20 if parser.parse_args().quick else 200
    result: dict[str, object] = {"trials": trials}
    print(f"{'coverage, least / mean, nominal .95':48}" + "".join(f"{f'n = {n}':>14}" for n in SIZES))
    for name, by_size in intervals(trials):
        cells = "".join(f"{f'{low:.3f} / {mean:.3f}':>14}" for low, mean in by_size.values())
        sizes = "" if tuple(by_size) == SIZES else f"   (n = {', '.join(map(str, by_size))})"
        print(f"{name:48}{cells}{sizes}", flush=True)
        result[name] = {str(n): [round(v, 4) for v in found] for n, found in by_size.items()}
    print(f"\n{'false alarms at level .05, at worst':48}" + "".join(f"{f'n = {n}':>14}" for n in SIZES))
    for name, shares in false_alarms(trials * 5):
        print(f"{name:48}" + "".join(f"{share:>14.3f}" for share in shares.values()), flush=True)
        result[name] = {str(n): round(share, 4) for n, share in shares.items()}
    together = family(trials) | {"dependent": family_of_sides(trials)}
    print(
        f"\nany false alarm among 76 under Holm: exact {together['exact']:.3f}, bootstrap {together['bootstrap']:.3f}, "
        f"all pairs of 13 sides on the same items, companies' signs {together['dependent']:.3f}"
    )
    print(json.dumps(result | {"family_76": together}))


if __name__ == "__main__":
    main()

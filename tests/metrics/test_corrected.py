from __future__ import annotations

import numpy as np
import pytest

from fiqkit.metrics.corrected import Instrument, corrected_numbers, prediction_powered, rogan_gladen
from fiqkit.metrics.intervals import share_interval


def test_rogan_and_gladen_by_hand():
    """40% called right, sensitivity .9, specificity .8: (.4 + .8 - 1) / (.9 + .8 - 1) = .2857."""
    rate, (low, high) = rogan_gladen(40, 100, Instrument(90, 100, 80, 100))
    assert rate == pytest.approx(0.2 / 0.7)
    assert low < rate < high


def test_an_instrument_without_fault_changes_little():
    rate, ends = rogan_gladen(35, 173, Instrument(10_000, 10_000, 10_000, 10_000))
    assert rate == pytest.approx(35 / 173)
    assert ends == pytest.approx(share_interval(35, 173), abs=0.01)


@pytest.mark.parametrize("pairs", [[(True, True)] * 9, [(False, False)] * 9, [(True, False), (False, True)] * 9, []])
def test_what_must_be_refused(scored, pairs):
    """Nothing ruled wrong; nothing ruled right; a grader that is wrong on everything; nothing ruled on."""
    instrument = Instrument.of(pairs)
    assert instrument.refusal
    with pytest.raises(ValueError, match=r"known|add up"):
        rogan_gladen(1, 2, instrument)
    found = corrected_numbers([scored("a")], {}, instrument)
    assert (found["rogan_gladen"], found["prediction_powered"], found["accuracy"]) == (None, None, 1.0)


def test_sensitivity_and_specificity():
    pairs = [(True, True)] * 3 + [(False, True)] + [(False, False)] * 9 + [(True, False)]
    instrument = Instrument.of(pairs)
    assert (instrument.sensitivity, instrument.specificity) == (0.75, 0.9)
    assert instrument.doubt == "only 4 of the ruled answers are right: the correction cannot be told from none"


def test_prediction_powered_by_hand():
    """30 of 100 called right; of ten ruled on, two called right are wrong: .3 - .2."""
    ruled = [(True, False)] * 2 + [(True, True)] * 3 + [(False, False)] * 5
    rate, (low, high) = prediction_powered(30, 100, ruled)
    assert rate == pytest.approx(0.1)
    assert low == 0.0 and 0.3 < high < 0.6


def test_rulings_unlike_the_row_are_refused(scored):
    """Ruled answers on which the grader is wrong one time in three, beside a row of which it called 1% right."""
    episodes = [scored(f"{i}", outcome="intended" if i < 2 else "other", episode=i) for i in range(200)]
    found = corrected_numbers(episodes, {}, Instrument(90, 100, 66, 100))
    assert found["rogan_gladen"] is None and "not like these" in found["refused"]


def test_a_row_raw_beside_corrected(scored):
    episodes = [scored(f"{i}", outcome="intended" if i < 30 else "other", episode=i) for i in range(100)]
    rulings = {i: i < 25 for i in range(60)}  # five of those called right are not
    instrument = Instrument.of([(i < 30, truth) for i, truth in rulings.items()])
    found = corrected_numbers(episodes, rulings, instrument)
    assert (found["accuracy"], found["rulings"], found["sensitivity"]) == (0.3, 60, 1.0)
    assert found["prediction_powered"] == pytest.approx(0.3 - 5 / 60)
    assert found["rogan_gladen"] == pytest.approx((0.3 + 30 / 35 - 1) / (30 / 35))


@pytest.mark.slow
@pytest.mark.parametrize("sensitivity", [0.9, 0.97])
def test_coverage_at_a_true_rate_of_two_per_cent_with_sixty_labels(sensitivity):
    """Sixty random rulings on 173 answers: both intervals hold, and the few right answers among them are said."""
    rng = np.random.default_rng(0)
    rate, covered, doubts, trials = 0.02, np.zeros(2), 0, 150
    for trial in range(trials):
        truth = rng.random(173) < rate
        given = np.where(truth, rng.random(173) < sensitivity, rng.random(173) > 0.97)
        ruled = [(bool(given[i]), bool(truth[i])) for i in rng.permutation(173)[:60]]
        instrument = Instrument.of(ruled)
        doubts += bool(instrument.doubt)
        ends = [prediction_powered(int(given.sum()), 173, ruled, seed=trial)[1]]
        ends.append(
            [0.0, 1.0] if instrument.refusal else rogan_gladen(int(given.sum()), 173, instrument, seed=trial)[1]
        )
        covered += [low <= rate <= high for low, high in ends]
    assert (covered / trials >= 0.93).all()
    assert doubts == trials

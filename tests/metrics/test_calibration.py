from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fiqkit.metrics.calibration import expected_calibration_error, reliability


def test_ece_by_hand(scored):
    """Bins .0–.2: one at .1, wrong. .8–1: .8 right, 1.0 right, .9 wrong. Gaps .1/1 and |2 − 2.7|/3."""
    episodes = [
        scored("a", confidence=10, outcome="other"),
        scored("b", confidence=80),
        scored("c", confidence=100),
        scored("d", confidence=90, outcome="other"),
    ]
    found = expected_calibration_error(episodes)
    assert found["ece"] == pytest.approx((0.1 + 0.7) / 4)
    assert found["ece_ci"][0] <= found["ece"] <= found["ece_ci"][1]
    assert found["ece_n"] == 4
    assert [part["n"] for part in reliability(episodes)] == [1, 0, 0, 0, 3]
    assert reliability(episodes)[1]["accuracy"] is None


def test_a_bin_opens_at_its_lower_edge(scored):
    assert [part["n"] for part in reliability([scored(str(c), confidence=c) for c in (0, 20, 40, 60, 80)])] == [1] * 5


def test_missing_confidence_and_verdicts_drop_out(scored):
    episodes = [
        scored("a", confidence=100),
        scored("b", outcome="other"),
        scored("c", outcome="unscored", confidence=0),
    ]
    assert expected_calibration_error(episodes)["ece"] == 0.0
    assert expected_calibration_error(episodes[1:])["ece"] is None


def test_all_wrong_is_no_certainty(scored):
    """Eight answers at 90, all wrong: the error is .9, and may well be .7."""
    low, high = expected_calibration_error([scored(f"{i}", confidence=90, outcome="other") for i in range(8)])["ece_ci"]
    assert high == 1.0
    assert 0.6 < low < 0.75


def test_what_a_calibrated_agent_would_show(scored):
    """One statement of .5 errs by .5 whatever comes; a hundred of them by about the mean deviation of a binomial."""
    alone = expected_calibration_error([scored("a", confidence=50)])["ece_calibrated"]
    assert alone == [0.5, 0.5]
    many = expected_calibration_error([scored(f"{i}", confidence=50) for i in range(100)])["ece_calibrated"]
    assert many[0] == pytest.approx(np.sqrt(0.25 / 100 * 2 / np.pi), rel=0.05)


def test_repeated_samples_do_not_narrow_the_interval(scored):
    once = [scored(f"{i}", confidence=80, outcome="intended" if i % 2 else "other") for i in range(20)]
    thrice = [replace(e, sample=s) for e in once for s in range(3)]
    assert expected_calibration_error(thrice)["ece_ci"] == pytest.approx(
        expected_calibration_error(once)["ece_ci"], abs=0.02
    )

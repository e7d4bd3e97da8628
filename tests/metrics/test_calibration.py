from __future__ import annotations

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
    ece, interval = expected_calibration_error(episodes)
    assert ece == pytest.approx((0.1 + 0.7) / 4)
    assert interval[0] <= ece <= interval[1]
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
    assert expected_calibration_error(episodes)[0] == 0.0
    assert expected_calibration_error(episodes[1:]) == (None, None)

from __future__ import annotations

from math import log2

import pytest

from fiqkit.metrics.items import item_difficulty, reference_rows


def test_difficulty_is_the_share_of_runs_that_were_right(scored):
    episodes = [
        scored("easy"),
        scored("easy", mode="search"),
        scored("hard", outcome="other"),
        scored("hard", mode="search"),
        scored("hard", mode="answer", outcome="unscored"),
    ]
    assert list(item_difficulty(episodes).items()) == [("hard", 0.5), ("easy", 1.0)]


def test_references_are_computed_over_instances(scored):
    """k = 2 and k = 4 readings; a second run over the same instances changes nothing."""
    episodes = [
        scored(name, h0=log2(k), mode=mode) for name, k in (("a", 2), ("b", 4)) for mode in ("answer", "search")
    ]
    rows = {row["model"]: row for row in reference_rows(episodes)}
    assert all(row["n"] == 2 for row in rows.values())
    assert rows["random-of-k"]["accuracy"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert (rows["default-reader"]["accuracy"], rows["default-reader"]["default_capture"]) == (0.0, 1.0)
    assert rows["intended-oracle"]["dise_plus_all"] == pytest.approx(1.5)
    assert (rows["contrarian"]["accuracy"], rows["contrarian"]["interaction_rate"]) == (1.0, 0.0)
    assert reference_rows([]) == []


def test_two_records_of_one_id_are_two_items(scored):
    episodes = [scored("a", item="1111111111"), scored("a", item="2222222222", outcome="other")]
    assert item_difficulty(episodes) == {"a@22222222": 0.0, "a@11111111": 1.0}


def test_in_an_orbit_nobody_scores_without_asking(scored):
    """Three siblings: whatever does not ask is right once in three; the oracle resolves all of log2 3 bits."""
    siblings = [
        scored(name, orbit="o", siblings=3, h0=log2(3), headline_intended=name == "a") for name in ("a", "b", "c")
    ]
    rows = {row["model"]: row for row in reference_rows(siblings)}
    silent = ("contrarian", "random-reading", "random-of-k", "default-reader")
    assert [rows[name]["accuracy"] for name in silent] == pytest.approx([1 / 3] * 4)
    assert [rows[name]["intent_resolved"] for name in silent] == [0.0] * 4
    assert rows["default-reader"]["default_capture"] == 1.0  # on the two siblings whose default is the headline
    assert (rows["intended-oracle"]["intent_resolved"], rows["intended-oracle"]["bits_resolved"]) == (1.0, log2(3))

"""Every rendering of a value, in every notation, alone and in sentences, is read as that value."""

from __future__ import annotations

import random

import pytest
from renderings import FRAMES, Amount, chinese_words, english_words, renderings

from fiqkit.values import find, same

AMOUNTS = [
    *(Amount("usd", n) for n in (46_751e6, 62_871e6, 8_123e6, 470e6, 14_920e6, 1_000e6, 159_514e6)),
    *(Amount("cny", n) for n in (12_187e6, 14_029e6, 186e6, 2_995e6, 100_000e6, 95.4e6, 23_725_916_000)),
    *(Amount("percent", n) for n in (13.9, 8.7, 0.1, 25.0, 182.4, 97.5)),
    *(Amount("per_share", n) for n in (0.99, 3.86, 1.41, 14.01)),
]


def test_there_are_forty_frames_a_language() -> None:
    assert all(len(frames) == len(set(frames)) == 40 for frames in FRAMES.values())


@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda amount: amount.gold)
def test_every_rendering_is_read(amount: Amount) -> None:
    (gold,) = find(amount.gold)
    missed = [written for written in renderings(amount) if not any(same(value, gold) for value in find(written))]
    assert not missed


def test_every_rendering_is_read_in_a_sentence() -> None:
    chance = random.Random(7)
    for amount in AMOUNTS:
        (gold,) = find(amount.gold)
        for written in renderings(amount):
            for frames in FRAMES.values():
                sentence = chance.choice(frames).format(v=written)
                assert any(same(value, gold) for value in find(sentence)), sentence


def test_words() -> None:
    assert english_words(46_751) == "forty-six thousand seven hundred fifty-one"
    assert chinese_words(12_187_000_000) == "一百二十一亿八千七百万"
    assert chinese_words(10_030) == "一万零三十"

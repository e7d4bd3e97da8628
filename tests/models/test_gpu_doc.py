"""The table of docs/gpu.md is what the cards say."""

import re
from pathlib import Path

import pytest

from fiqkit.models.cards.cards import Card, all_cards

GIB = 2**30
ROW = re.compile(r"^\| `([\w.-]+)` \| ([\d.]+) \| (\d+) \| (.+) \|$", re.M)
ROWS = ROW.findall((Path(__file__).parents[2] / "docs" / "gpu.md").read_text("utf-8"))


def in_flight(card: Card, gpu: int) -> str:
    """Tokens of cache that a GPU of so many GiB has room for."""
    free = 0.9 * gpu * GIB - card.size * 1.05 - GIB / 4
    tokens = int(free / (4 * card.layers * card.kv_heads * card.head_dim))
    return f"{tokens:,}" if tokens > 0 else "–"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_table(row: tuple[str, str, str, str]) -> None:
    name, weights, cache, tokens = row
    card = all_cards()[name]
    assert weights == f"{card.size / GIB:.1f}"
    assert int(cache) * 1024 == 4 * card.layers * card.kv_heads * card.head_dim
    assert tokens.split(" | ") == [in_flight(card, gpu) for gpu in (24, 48, 80)]


def test_every_large_card_has_a_row() -> None:
    assert {row[0] for row in ROWS} == {card.name for card in all_cards().values() if card.layers and card.size > GIB}

"""The taught model that is shipped: what it says of itself, and that it asks about what is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fiqkit.metrics.orbits import orbit_numbers
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.weights import locate
from fiqkit.models.checks.adapters import check_gguf_adapter, read_record
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import load as lineup
from fiqkit.run.lineup import override
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

pytest.importorskip("llama_cpp")


def test_the_adapter_is_small_and_says_how_it_was_made() -> None:
    card = find_card("smollm2-taught")
    adapter = Path(card.adapter)
    assert adapter.stat().st_size < 12_000_000
    check_gguf_adapter(adapter, card.name, locate(card))
    record = read_record(adapter)
    assert record["stage"] == "sft"
    assert record["recipe"]["name"] == "smollm2-cpu"
    assert len(record["data"]["demos"]) == 64  # a sha256
    assert locate(card) == locate(find_card("smollm2-135m"))


@pytest.mark.slow
def test_it_asks_on_category_about_companies_that_it_never_saw(tmp_path: Path) -> None:
    settings = Settings(
        lineup=override(
            lineup("demo"), {"agent": ("smollm2-taught",), "modes": ("interact",), "retrieval": "own"}, "test"
        ),
        store=tmp_path / "taught.db",
        split="test",
        language="en",
        orbits=5,
    )
    result = asyncio.run(evaluate(settings))
    store = Store(settings.store)
    try:
        episodes = load_scored(store, [result.run])
    finally:
        store.close()
    assert all(e.asked for e in episodes)
    on_category = sum(e.questions[0].central in e.categories for e in episodes) / len(episodes)
    assert on_category >= 0.7  # its base: a tenth
    assert orbit_numbers(episodes)["orbits"] == 5

"""What each role of a run consumed: requests, tokens, time and, for priced cards, money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Usage
from fiqkit.store.store import Store

Row = dict[str, Any]  # role, name, requests, prompt_tokens, output_tokens, seconds, dollars


def agent_usage(store: Store, run: str, cards: Mapping[str, Card]) -> list[Row]:
    """Totals of each agent over all episodes of a run; `cards` by the agent's name, for their prices."""
    rows = store.db.query(
        "SELECT 'agent' AS role, model AS name, sum(n_turns) AS requests, sum(prompt_tokens) AS prompt_tokens, "
        "sum(output_tokens) AS output_tokens, "
        "sum((SELECT sum(seconds) FROM turns t WHERE t.episode = e.episode)) AS seconds "
        "FROM episodes e WHERE run=? GROUP BY model ORDER BY min(episode)",
        (run,),
    )
    return [{**row, "dollars": dollars(row, cards.get(row["name"]))} for row in rows if row["prompt_tokens"]]


def role_usage(role: str, name: str, usage: Usage, card: Card | None, before: Sequence[Row]) -> Row:
    """Totals of a role that a model plays, with those of the sessions `before` a resumption added."""
    row: Row = {"role": role, "name": name, **asdict(usage)}
    del row["faults"]
    for earlier in before:
        if (earlier["role"], earlier["name"]) == (role, name):
            row |= {key: row[key] + earlier[key] for key in ("requests", "prompt_tokens", "output_tokens", "seconds")}
    return row | {"dollars": dollars(row, card)}


def dollars(row: Mapping[str, Any], card: Card | None) -> float | None:
    """US dollars at a card's prices; None where it has none."""
    if card is None or not (card.price_in or card.price_out):
        return None
    return (row["prompt_tokens"] * card.price_in + row["output_tokens"] * card.price_out) / 1e6

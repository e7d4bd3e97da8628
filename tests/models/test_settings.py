"""Settings, requests and logits on which a library would end the process, or wait for ever: each is a line."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fiqkit.errors import UserError
from fiqkit.models import open_engine
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.weights import locate
from fiqkit.models.constraints.structured import check_request
from fiqkit.models.engine import EngineError, Request, Sampling
from fiqkit.models.local.hf_batch import Job, Vocabulary, generate
from fiqkit.models.local.llama_native import Model
from fiqkit.models.local.llama_sampling import Sampler
from fiqkit.models.local.worker import Pending


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"parallel": 0}, "parallel is 0; it is from 1"),
        ({"parallel": -3}, "parallel is -3"),
        ({"batch": 8}, "batch is 8; for parallel = 8 it must be at least 16"),
        ({"pool": -1}, "pool is -1"),
        ({"threads": -1}, "threads is -1"),
        ({"switch": 5}, "give it as a table"),
    ],
)
def test_settings_that_would_end_the_process_are_one_line(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        open_engine("smollm2-135m", **settings)


def test_lists_and_tables_among_settings_are_checked() -> None:
    server = Card("m", "openai", "http://127.0.0.1:9/v1", "m")
    for settings, line in (
        ({"extra": 5}, "give it as a table"),
        ({"adapters": 5}, "give it as a table of texts"),
        ({"adapters": {"a": 1}}, "give it as a table of texts"),
        ({"timeout": float("inf")}, "must be positive numbers"),
    ):
        with pytest.raises(UserError, match=line):
            open_engine(server, **settings)
    with pytest.raises(UserError, match=r"arguments .* is '--flash-attn on'; give it as a list of texts"):
        open_engine(replace(server, engine="vllm-server"), arguments="--flash-attn on")


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"temperature": 1e39},
        {"temperature": 1e-38},
        {"temperature": -1.0},
        {"max_tokens": 0},
        {"max_tokens": -5},
        {"top_p": 0.0},
        {"top_p": float("nan")},
        {"stop": ("",)},
    ],
)
def test_sampling_that_no_library_can_do(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"{next(iter(fields)).split('_')[0]}"):
        Sampling(**fields)


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(messages=[]),
        Request(prompt_ids=()),
        Request(messages=[{"role": "user", "content": "a"}], prompt_ids=(1,)),
        Request(messages=[{"role": "user", "content": "a"}], choices=("a",), schema={"type": "object"}),
    ],
)
def test_requests_that_are_none(request_: Request) -> None:
    with pytest.raises(UserError, match="a request has"):
        check_request(request_)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("grammar", [None, 'root ::= "yes" | "no"'])
def test_logits_that_are_no_numbers_are_an_error(temperature: float, grammar: str | None) -> None:
    model = Model("s", locate(find_card("smollm2-135m")), 0)
    sampler = Sampler(model, Sampling(temperature=temperature), grammar, "root")
    for broken in (np.full(model.n_vocab, np.nan, np.float32), np.full(model.n_vocab, -np.inf, np.float32)):
        with pytest.raises(EngineError, match="computes no numbers"):
            sampler.draw(broken, True)
    one = np.zeros(model.n_vocab, np.float32)
    one[7] = np.nan
    with pytest.raises(EngineError, match="computes no numbers"):
        sampler.draw(one, True)
    sampler.free()
    model.free()


def test_one_request_of_no_numbers_does_not_end_the_others() -> None:
    async def scenario() -> None:
        engine = open_engine("smollm2-135m", threads=1, context=256, parallel=2)
        context = engine._worker._batch._context  # type: ignore[attr-defined]
        decode = context.decode

        def spoilt(rows: Any) -> Any:
            # The first sequence's logits are no numbers; what the others compute stays.
            found = decode(rows)
            return [
                row if row is None or at[0] else np.full_like(row, np.nan) for at, row in zip(rows, found, strict=True)
            ]

        context.decode = spoilt
        asked = [Request(prompt_ids=(1, 20 + n), sampling=Sampling(max_tokens=3)) for n in range(2)]
        outcomes = await asyncio.gather(*map(engine.complete, asked), return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Completion", "EngineError"]
        await engine.close()

    asyncio.run(scenario())


def test_a_module_of_no_numbers_is_an_error() -> None:
    from test_transformers_engine import tiny_model

    model = tiny_model()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))

    async def scenario() -> None:
        job = Job((5, 6), Sampling(max_tokens=2), Pending())
        with pytest.raises(EngineError, match="computes no numbers"):
            generate(model, [job], Vocabulary(str, frozenset(), 0))

    asyncio.run(scenario())

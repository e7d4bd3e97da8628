"""Is one model the same model in two engines? SmolLM2 as GGUF in llama.cpp and as its float32 dequantisation in
transformers: token ids of 50 prompts, and the first greedy token of each reply.

    python benchmarks/parity.py

llama.cpp multiplies 4-bit weights with activations rounded to 8 bits, so a near tie may fall the other way; the token
ids may not differ at all. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass

from fiqkit.models import open_engine
from fiqkit.models.engine import Completion, Request, Sampling

COMPANIES = ("Intel", "Kweichow Moutai", "Ford", "Nestlé", "宁德时代", "ICBC", "Tesla", "中国石油", "AT&T", "BYD")
QUESTIONS = (
    "What was {0}'s net income in fiscal 2022?",
    "{0}的营业收入在2021年是多少？请给出数字。",
    "Did {0} report 1,234.5 million (or 12.3%) more revenue, basic or diluted?",
    "Answer yes or no: does {0} file a 10-K?\n\n| item | 2021 | 2020 |\n|---|---|---|\n| cash | 1 | (2) |",
    'Reply with JSON: {{"action": "ask", "company": "{0}"}} \t <b>&amp;</b> 🙂',
)


@dataclass(frozen=True, slots=True)
class Parity:
    """Prompts in all, those with equal token ids, and those with the same first greedy token."""

    prompts: int
    same_ids: int
    same_first_token: int


def chats(count: int = 50) -> list[list[dict[str, str]]]:
    texts = [question.format(company) for company in COMPANIES for question in QUESTIONS]
    system = {"role": "system", "content": "You answer questions about filings."}
    return [
        ([system] if i % 3 == 0 else []) + [{"role": "user", "content": text}] for i, text in enumerate(texts[:count])
    ]


async def first_tokens(card: str, requests: list[Request]) -> list[Completion]:
    engine = open_engine(card, threads=1, context=512)
    try:
        return list(await asyncio.gather(*map(engine.complete, requests)))
    finally:
        await engine.close()


def compare(gguf: str, dequantised: str, count: int = 50) -> Parity:
    requests = [Request(messages=chat, sampling=Sampling(max_tokens=1)) for chat in chats(count)]
    pairs = list(
        zip(asyncio.run(first_tokens(gguf, requests)), asyncio.run(first_tokens(dequantised, requests)), strict=True)
    )
    return Parity(
        prompts=len(pairs),
        same_ids=sum(one.prompt_ids == other.prompt_ids for one, other in pairs),
        same_first_token=sum(one.output_ids == other.output_ids for one, other in pairs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", default="smollm2-135m", help="a card of the llama_cpp engine")
    parser.add_argument("--dequantised", default="smollm2-135m-hf", help="a card of the transformers engine")
    options = parser.parse_args()
    print(json.dumps(asdict(compare(options.gguf, options.dequantised))))


if __name__ == "__main__":
    main()

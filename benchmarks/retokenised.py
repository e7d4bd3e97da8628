"""Episodes of random replies under chat templates: how many tokens that a model drew come back as others in its rows.

    python benchmarks/retokenised.py --episodes 10000

A reply is drawn as tokens, and seldom as those that encoding its text would give; the next prompt is encoded from the
text, as when served. Where it does not begin with what was there, a new row begins. The last line is JSON: per
template, episodes, tokens drawn, tokens that differ in the rows, and rows an episode.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from fiqkit.models.template import ChatTemplate
from fiqkit.train.rows import join

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}
_WORDS = ("revenue", "of", "the", "segment", " 2023", "净利润", "{", '"action"', ": ", "search", "}", "\n", "$5.1B")


def tokenizer() -> Any:
    """Byte-level BPE with a few hundred merges, learned from English, Chinese and JSON."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, min_frequency=1
    )
    random = Random(0)
    made.train_from_iterator([" ".join(random.choices(_WORDS, k=12)) for _ in range(200)], trainer)
    return made


def count(name: str, source: str, episodes: int, tokens: Any, seed: int = 0) -> dict[str, Any]:
    """The figures of one template over so many random episodes of one to four turns."""
    random, template = Random(seed), ChatTemplate(name, source, SPECIALS)
    size, drawn, changed, rows = tokens.get_vocab_size(), 0, 0, 0
    for _ in range(episodes):
        messages: list[Mapping[str, str]] = [
            {"role": "system", "content": "Answer."},
            {"role": "user", "content": " ".join(random.choices(_WORDS, k=6))},
        ]
        turns = []
        for _ in range(random.randint(1, 4)):
            prompt = tokens.encode(template.render(messages), add_special_tokens=False).ids
            reply = [random.randrange(size) for _ in range(random.randint(1, 12))]
            turns.append((prompt, reply))
            messages += [
                {"role": "assistant", "content": tokens.decode(reply)},
                {"role": "user", "content": random.choice(_WORDS)},
            ]
        made = join(turns)
        learned = [token for row in made for token, own in zip(row.ids, row.mask, strict=True) if own]
        wanted = [token for _, reply in turns for token in reply]
        drawn += len(wanted)
        changed += abs(len(learned) - len(wanted)) + sum(a != b for a, b in zip(learned, wanted, strict=False))
        rows += len(made)
    return {"episodes": episodes, "tokens": drawn, "retokenised": changed, "rows_per_episode": rows / episodes}


def main() -> None:
    """Count over all templates of the tests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--episodes", type=int, default=1000)
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from chat_templates import TEMPLATES

    tokens = tokenizer()
    found = {name: count(name, source, asked.episodes, tokens) for name, source in TEMPLATES.items()}
    for name, row in found.items():
        print(
            f"{name:16} {row['retokenised']} of {row['tokens']:,} tokens; {row['rows_per_episode']:.2f} rows an episode"
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()

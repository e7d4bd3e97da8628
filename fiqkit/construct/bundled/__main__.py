"""Write the bundled set: `python -m fiqkit.construct.bundled --facts CSV --candidates DIR --out DIR`."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

import click

from fiqkit.construct.bundled import chinese, us
from fiqkit.construct.bundled.draft import Draft
from fiqkit.construct.bundled.render import choices, distractor, render
from fiqkit.construct.rules import broken_rules
from fiqkit.datasets import instance_row, passage_row, write_jsonl
from fiqkit.errors import UserError
from fiqkit.index import build
from fiqkit.records import Instance, Passage

DISTRACTORS = {"en": 150, "zh": 150}


def make(facts: Path, candidates: Path, seed: int) -> tuple[list[Instance], list[Passage]]:
    """The instances and the passages, distractors among them; the same seed and sources give the same set.

    Raises:
        UserError: an instance breaks a rule, or two passages share an id.
    """
    rng = random.Random(seed)
    groups = [
        *us.drafts(candidates),
        *chinese.profit_drafts(facts, candidates, rng),
        chinese.vintage_drafts(candidates),
    ]
    made = [_rendered(group, rng) for group in groups]
    # round robin, so that the first few already span categories and languages
    pairs = [pair for turn in zip_longest(*made) for pair in turn if pair]
    instances = [instance for instance, _ in pairs]
    used = {draft.filing.code for group in groups for draft in group}
    others = [
        *us.distractors(candidates, used, DISTRACTORS["en"], rng),
        *chinese.distractors(candidates, used, DISTRACTORS["zh"], rng),
    ]
    passages = [passage for _, passage in pairs]
    passages += [distractor(filing, found, number) for number, (filing, found) in enumerate(others)]
    rng.shuffle(passages)
    _check(instances, passages)
    return instances, passages


def _rendered(group: list[Draft], rng: random.Random) -> list[tuple[Instance, Passage]]:
    picked = list(zip(group, choices(group, rng), strict=True))
    rng.shuffle(picked)
    return [
        render(draft, choice, number, f"fiqkit-{draft.filing.code}") for number, (draft, choice) in enumerate(picked)
    ]


def _check(instances: list[Instance], passages: list[Passage]) -> None:
    by_id: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_id[passage.passage_id].append(passage)
    twice = [passage_id for passage_id, found in by_id.items() if len(found) > 1]
    if twice:
        raise UserError(f"passage {twice[0]!r} is made twice; one filing and period a company is meant")
    for instance in instances:
        broken = broken_rules(instance, by_id[instance.passage_id or ""][0].text)
        if broken:
            raise UserError(f"instance {instance.instance_id!r} breaks {', '.join(broken)}: {instance.question}")


@click.command()
@click.option("--facts", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
@click.option("--candidates", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--seed", default=1, show_default=True)
def main(facts: Path, candidates: Path, out: Path, seed: int) -> None:
    """Write instances.jsonl, passages.jsonl and their index."""
    instances, passages = make(facts, candidates, seed)
    write_jsonl(out / "instances.jsonl", map(instance_row, instances))
    write_jsonl(out / "passages.jsonl", map(passage_row, passages))
    done = build(passages, out / "index", passages_file=out / "passages.jsonl")
    click.echo(f"{out}: {len(instances)} instances, {len(passages)} passages in {done.chunks} chunks")


if __name__ == "__main__":
    main()

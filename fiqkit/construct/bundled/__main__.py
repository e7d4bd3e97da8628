"""Write the bundled set: `python -m fiqkit.construct.bundled --data ../shared/data --out fiqkit/bench_data`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from fiqkit.construct.bundled.plan import LEFT_OUT, PLAN, planned, read_plan, splits_of, still_mined, write_plan
from fiqkit.construct.bundled.sources import read_sources
from fiqkit.construct.pipeline import CHINESE_SHARE, Built, chosen, keep_share, mined, rendered, with_corpus
from fiqkit.construct.quotas import Cell
from fiqkit.construct.run import write
from fiqkit.construct.splits import split
from fiqkit.errors import UserError
from fiqkit.filings.store import FactStore

SEED = 1
PASSAGES = 3100
# Instances by category and language. A-share tables give one period and one basis a line, and hardly ever two versions:
# Chinese orbits are over whose profit and over which profit.
QUOTAS: dict[Cell, int] = {
    ("entity_scope", "en"): 68,
    ("entity_scope", "zh"): 80,
    ("temporal_scope", "en"): 142,
    ("metric_definition", "en"): 68,
    ("metric_definition", "zh"): 80,
    ("recognition_policy", "en"): 104,
    ("filing_vintage", "en"): 96,
    ("filing_vintage", "zh"): 8,
}


def make(store: Path, seed: int = SEED) -> Built:
    """The bundled set, of the orbits that its plan names, from a fact store of its sources.

    Raises:
        UserError: an orbit of the plan is not mined from it.
    """
    plan = read_plan()
    facts = FactStore(store)
    try:
        orbits, _ = mined(facts)
        built = with_corpus(rendered(planned(orbits, plan), seed), facts, PASSAGES, LEFT_OUT)
    finally:
        facts.close()
    built.pinned = splits_of(plan)
    silent = {line.orbit for line in plan if not line.is_asked}
    built.orbits = [orbit for orbit in built.orbits if orbit.key not in silent]
    built.instances = [instance for instance in built.instances if instance.orbit not in silent]
    return built


def choose(store: Path, plan: Path, seed: int = SEED, *, refill: bool = False) -> None:
    """Choose the orbits of another bundled set by quota, and pin them with their splits.

    Args:
        refill: keep what the plan names where it is still mined and passes, with its split; choose what quotas lack.

    Raises:
        UserError: a cell falls short of its quota by more than a tenth.
    """
    facts = FactStore(store)
    try:
        before = read_plan(plan) if refill else []
        orbits, _ = mined(facts, exclude=LEFT_OUT)
        built = chosen(orbits, QUOTAS, seed, kept=still_mined(orbits, before))
    finally:
        facts.close()
    every = [*built.orbits]
    keep_share(built, "zh", CHINESE_SHARE)
    if built.short:
        cell, (wanted, had) = next(iter(built.short.items()))
        raise UserError(f"{' / '.join(cell)}: {had} instances where the quota is {wanted}; mend the miner or the quota")
    splits = split(built.instances, seed, pinned=splits_of(before))
    where = {name: part for part, ids in splits.items() for name in ids}
    write_plan(plan, every, {i.orbit or "": where[i.instance_id] for i in built.instances})


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option(
    "--facts", type=click.Path(dir_okay=False, path_type=Path), help="Keep, or use again, the fact store here."
)
@click.option("--no-index", is_flag=True, help="Leave the index out.")
@click.option("--choose-again", is_flag=True, help="Choose and pin other orbits first; makes another set.")
@click.option("--refill", is_flag=True, help="Keep the pinned orbits that are still mined, and choose what they lack.")
def main(data: Path, out: Path, facts: Path | None, no_index: bool, choose_again: bool, refill: bool) -> None:
    """Write instances, passages, splits and their index."""
    from fiqkit.index import build

    with tempfile.TemporaryDirectory() as scratch:
        store = facts or Path(scratch) / "facts.db"
        read_sources(data, store)
        if choose_again or refill:
            choose(store, PLAN, refill=refill)
        built = make(store)
    write(built, out, SEED)
    click.echo(f"{out}: {len(built.instances)} instances in {len(built.orbits)} orbits, {len(built.passages)} passages")
    if not no_index:
        done = build(built.passages, out / "index", passages_file=out / "passages.jsonl")
        click.echo(f"{out / 'index'}: {done.chunks} chunks")


if __name__ == "__main__":
    main()

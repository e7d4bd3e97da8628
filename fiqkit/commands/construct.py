"""`fiqkit construct`: a private benchmark from one's own filings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fiqkit.commands.arguments import SEED, Command, NewFolder
from fiqkit.commands.options import EXISTING_FILE, json_option, print_json

if TYPE_CHECKING:
    from fiqkit.construct.funnel import Funnel
    from fiqkit.construct.pipeline import Built


@click.command(cls=Command)
@click.option("--facts", type=EXISTING_FILE, required=True, help="Fact store (fiqkit ingest) of your filings.")
@click.option("--out", type=NewFolder(), required=True, help="Folder of the set.")
@click.option("--target", type=click.IntRange(1), default=600, show_default=True, help="Instances wanted.")
@click.option("--constructor", default="facts", show_default=True, help="facts (by rule), or a model card.")
@click.option("--verifier", default="rules", show_default=True, help="rules, one or two model cards, or none.")
@click.option(
    "--exclude", type=EXISTING_FILE, multiple=True, help="Instances of another set, whose orbits are not made again."
)
@click.option("--filed-after", metavar="DATE", help="Only filings after this date (YYYY-MM-DD).")
@click.option(
    "--passages", type=click.IntRange(0), default=0, help="Passages of the corpus at least, others' included."
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Another seed, another draw.")
@click.option(
    "--passage-arm", is_flag=True, help="Verifying models try again with the passage at hand; counted, nothing dropped."
)
@json_option
def command(
    facts: Path,
    out: Path,
    target: int,
    constructor: str,
    verifier: str,
    exclude: tuple[Path, ...],
    filed_after: str | None,
    passages: int,
    seed: int,
    passage_arm: bool,
    as_json: bool,
) -> None:
    """Make instances, passages and splits from a fact store.

    \b
    fiqkit construct --facts facts.db --out mine
    fiqkit construct --facts facts.db --out mine --target 200 --filed-after 2024-01-01

    Every instance belongs to an orbit (each reading of a question is intended once) and carries the certificate of its
    values. What models say is kept in OUT/progress.db: started again, a construction that was cut off goes on. Exit
    code 1 when a quota of category and language lacks more than a tenth; what there is, is written.
    """
    from fiqkit.construct.run import construct

    built, funnel = construct(
        facts,
        out,
        target=target,
        constructor=constructor,
        verifier=verifier,
        exclude=exclude,
        filed_after=filed_after,
        passages=passages,
        seed=seed,
        passage_arm=passage_arm,
    )
    if as_json:
        print_json(
            {
                "instances": len(built.instances),
                "orbits": len(built.orbits),
                "passages": len(built.passages),
                "funnel": funnel.row(),
                "short": {" / ".join(cell): {"wanted": w, "had": h} for cell, (w, h) in built.short.items()},
            }
        )
    else:
        _print(out, built, funnel, target)
    if built.short:
        sys.exit(1)


def _print(out: Path, built: Built, funnel: Funnel, target: int) -> None:
    click.echo(f"{out}: {len(built.instances)} instances in {len(built.orbits)} orbits, {len(built.passages)} passages")
    for line in funnel.lines(target):
        click.echo(line)
    for cell, (wanted, had) in built.short.items():
        click.echo(f"short: {' / '.join(cell)}: {had} of {wanted} instances", err=True)

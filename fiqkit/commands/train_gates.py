"""`fiqkit train gates`: when to ask, from runs that are there."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command
from fiqkit.commands.options import json_option, print_json, store_option

SIDE = "RUN:MODEL:MODE"


@click.command(cls=Command)
@click.argument("never", metavar=f"NEVER({SIDE})")
@click.argument("always", metavar=f"ALWAYS({SIDE})")
@click.option("--base", metavar=SIDE, help="The base's own episodes where it may ask: they route the gate base-ask.")
@click.option(
    "--fit", nargs=2, metavar=f"{SIDE} {SIDE}", help="The same two sides on validation items: fits the threshold."
)
@click.option("--threshold", type=click.FloatRange(0, 101), help="The confidence gate's threshold, fitted elsewhere.")
@click.option("--cost", type=click.FloatRange(0), default=0.05, show_default=True, help="Of a question, in accuracy.")
@click.option("--mix", metavar=SIDE, help="A policy trained with sft.silent: the negative control.")
@store_option
@json_option
def gates(
    never: str,
    always: str,
    base: str | None,
    fit: tuple[str, str] | None,
    threshold: float | None,
    cost: float,
    mix: str | None,
    store: Path,
    as_json: bool,
) -> None:
    """What each gate makes of items that were played silently (NEVER) and with a question (ALWAYS).

    \b
    fiqkit train gates last:never-ask:taught:interact last:always-ask:taught:interact --threshold 70
    fiqkit train gates last:never-ask:taught:interact last:always-ask:taught:interact \\
        --base last:base:interact --fit VAL:never-ask:taught:interact VAL:always-ask:taught:interact
    """
    from fiqkit.report.comparison import side_of
    from fiqkit.store.store import Store
    from fiqkit.train import gates as rules

    kept = Store(store)
    try:
        sides = (side_of(kept, never), side_of(kept, always), side_of(kept, base) if base else None)
        items, keys = rules.paired(*sides)
        if fit:
            validation, others = rules.paired(side_of(kept, fit[0]), side_of(kept, fit[1]))
            if both := set(others) & set(keys):
                raise click.UsageError(
                    f"{len(both)} items are in --fit and in the test; a threshold is fitted on others"
                )
            threshold = rules.fit(validation, cost)
        rows = rules.table(items, threshold)
        if mix:
            rows.append(rules.own_row("no-ask mix", items, keys, side_of(kept, mix)))
    finally:
        kept.close()
    if as_json:
        print_json({"gates": rows, "threshold": threshold, "cost": cost})
        return
    click.echo(f"{'gate':16} {'n':>4} {'asked':>6} {'accuracy':>8}  wrong→right  right→wrong")
    for row in rows:
        click.echo(
            f"{row['gate']:16} {row['n']:>4} {row['ask_rate']:>6.1%} {row['accuracy']:>8.1%}  "
            f"{row['wrong_to_right']:>11}  {row['right_to_wrong']:>11}"
        )

"""`fiqkit bundle`: a folder that carries the kit to a machine without a network."""

from __future__ import annotations

from pathlib import Path

import click

from fiqkit.commands.arguments import Command, NewFolder
from fiqkit.commands.options import FILE, json_option, names, print_json


@click.command(cls=Command)
@click.argument("out", type=NewFolder())
@click.option("--models", callback=names, help="Model cards whose weights travel, by comma; they must be here.")
@click.option("--extras", callback=names, help="Parts of the kit by comma; local,embed without it.")
@click.option("--gpu", is_flag=True, help="Add the parts that want a GPU: probe and train.")
@click.option("--python", help="Python of the machine it is for, such as 3.12; this one's without it.")
@click.option(
    "--arch", type=click.Choice(["x86_64", "aarch64"]), default="x86_64", show_default=True, help="Its processor."
)
@click.option(
    "--glibc", type=click.IntRange(17, 60), default=28, show_default=True, help="Its C library is 2.N or newer."
)
@click.option("--cards", type=FILE, help="TOML file of your own cards (default: FIQKIT_CARDS).")
@click.option("--dry-run", is_flag=True, help="Only say what it would hold and how large that is.")
@click.option("--verify", "only_verify", is_flag=True, help="Only hash every file of OUT again.")
@json_option
def command(
    out: Path,
    models: tuple[str, ...],
    extras: tuple[str, ...],
    gpu: bool,
    python: str | None,
    arch: str,
    glibc: int,
    cards: Path | None,
    dry_run: bool,
    only_verify: bool,
    as_json: bool,
) -> None:
    """Fill the folder OUT with wheels, weights and an installer that needs no network.

    \b
    fiqkit bundle usb --models qwen2.5-32b-awq --dry-run
    fiqkit bundle usb --verify
    """
    import re

    from fiqkit.bundle.folder import Contents, verify, write
    from fiqkit.bundle.wheels import Target
    from fiqkit.models.cards.cards import all_cards, find_card

    if only_verify:
        count = verify(out)
        print_json({"files": count, "whole": True}) if as_json else click.echo(f"{out}: {count} files, all whole")
        return
    all_cards(cards)
    if python is not None and not re.fullmatch(r"3\.1[1-3]", python):
        raise click.BadParameter(f"{python!r}; fiqkit runs on 3.11, 3.12 and 3.13", param_hint="--python")
    target = Target(arch=arch, glibc=glibc) if python is None else Target(python, arch, glibc)
    parts = (*(extras or ("local", "embed")), *(("probe", "train") if gpu else ()))
    contents = Contents(tuple(dict.fromkeys(parts)), tuple(find_card(name, cards) for name in models), target)
    sizes = contents.sizes()
    if not as_json:
        for what, size in sizes.items():
            click.echo(f"{what:40} {size / 2**20:10,.1f} MiB", err=not dry_run)
    if dry_run:
        if as_json:
            print_json(sizes)
        return
    manifest = write(out, contents, lambda line: click.echo(line, err=True))
    size = sum(entry["bytes"] for entry in manifest["files"].values())
    if as_json:
        print_json(manifest)
    else:
        click.echo(f"{out}: {len(manifest['files'])} files, {size / 2**20:,.1f} MiB; there: sh install.sh")

"""How arguments are read: what click would take in silence is refused, in one line, before anything is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isfinite
from typing import Any

import click

_LARGEST = 2**63  # what a column of SQLite can hold

# A seed that every random generator of the kit's libraries takes.
SEED = click.IntRange(0, 2**32 - 1)


class Command(click.Command):
    """A command that refuses an empty value, an option given twice, and a number that is none or too large.

    An empty value is nearly always a shell variable that was not set, and click would take the last of two values.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, and strictly.

        Raises:
            click.UsageError: names the option.
        """
        if not ctx.resilient_parsing:
            _refuse_written(self, ctx, list(args))
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_numbers(self, ctx)
        return rest


class Group(Command, click.Group):
    """A group whose commands are strict."""

    command_class = Command
    group_class = type


def _refuse_written(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    given, _, order = command.make_parser(ctx).parse_args(args)
    times = Counter(param.name for param in order)
    for param in command.get_params(ctx):
        if times[param.name] > 1 and _is_single(param):
            raise click.UsageError(f"{param.opts[0]} is given {times[param.name]} times; give it once", ctx)
        for value in _texts(given.get(param.name)):
            if not value.strip():
                raise click.BadParameter("an empty value; leave it out, or give one", ctx, param)
            try:
                value.encode()
            except UnicodeEncodeError:
                raise click.BadParameter("bytes that are not UTF-8", ctx, param) from None


def _is_single(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)


def _refuse_numbers(command: click.Command, ctx: click.Context) -> None:
    for param in command.get_params(ctx):
        for value in _flat(ctx.params.get(param.name or "")):
            if isinstance(value, float) and not isfinite(value):
                raise click.BadParameter(f"{value} is no number", ctx, param)
            if isinstance(value, int) and abs(value) >= _LARGEST:
                raise click.BadParameter(f"{value:.2e} is too large", ctx, param)


def _texts(value: Any) -> Iterable[str]:
    return (item for item in _flat(value) if isinstance(item, str))


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value

"""How arguments are read: what click would take in silence is refused, in one line, before anything is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

import click

from fiqkit.errors import UserError
from fiqkit.whole_file import check_file, check_folder, refuse_overwriting

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
            UserError: a file that is read would be written over.
        """
        if not ctx.resilient_parsing:
            _refuse_given(self, ctx, list(args))
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _refuse_numbers(self, ctx)
            _refuse_overwriting(self, ctx)
        return rest


class Group(Command, click.Group):
    """A group whose commands are strict."""

    command_class = Command
    group_class = type


class NewFile(click.Path):
    """A file that a command writes: a place where it cannot is refused before the work."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            click.BadParameter: no file can be written there.
        """
        path: Any = super().convert(value, param, ctx)
        try:
            self.check(path)
        except UserError as error:
            self.fail(str(error), param, ctx)
        return path

    def check(self, path: Path) -> None:
        """Raises a `UserError` where nothing of the kind can be written."""
        check_file(path)


class NewFolder(NewFile):
    """A folder that a command fills, made where there is none."""

    def check(self, path: Path) -> None:
        """Raises a `UserError` where nothing of the kind can be written."""
        check_folder(path)


def _refuse_given(command: click.Command, ctx: click.Context, args: list[str]) -> None:
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


def _refuse_overwriting(command: click.Command, ctx: click.Context) -> None:
    paths = [(param, path) for param in command.get_params(ctx) for path in _flat(ctx.params.get(param.name or ""))]
    written = [path for param, path in paths if type(param.type) is NewFile and path is not None]
    read = [path for param, path in paths if isinstance(path, Path) and not isinstance(param.type, NewFile)]
    twice = [path for path, times in Counter(path.resolve() for path in written).items() if times > 1]
    if twice:
        raise click.UsageError(f"{twice[0]} would be written twice; name two files", ctx)
    refuse_overwriting(written, read)


def _texts(value: Any) -> Iterable[str]:
    return (item for item in _flat(value) if isinstance(item, str))


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value

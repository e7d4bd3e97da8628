"""The command line. Each command lives in `fiqkit.commands` and is imported only when it is called, so that `--help`
stays cheap; errors meant for people are printed here, in one line, with exit code 2."""

from __future__ import annotations

import errno
import importlib
import re
import sys
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from fiqkit import __version__, offline
from fiqkit.errors import UserError

# name → (module in fiqkit.commands, the line that `fiqkit --help` shows)
COMMANDS = {
    "check": ("check", "Hold your own instances, passages and index against each other before a run."),
    "run": ("run", "Put agents through instances and record every episode."),
    "runs": ("runs", "List the recorded runs."),
    "episodes": ("episodes", "List episodes by how they ended and what was said."),
    "show": ("show", "Print one episode as a person would read it."),
    "report": ("report", "Tables, figures and the HTML page of recorded runs."),
    "export": ("export", "Recorded runs as CSV, JSON lines or Parquet, and for other tools."),
    "describe": ("describe", "What a set of instances holds."),
    "compare": ("compare", "Paired difference between two runs, models or modes."),
    "grade": ("grade", "Grade recorded answers again, or a file of ruled answers."),
    "capsule": ("capsule", "One run in a file that proves itself."),
    "regrade": ("regrade", "Grade a capsule again, on any machine."),
    "judge": ("judge", "Judge recorded questions again, or a file of ruled questions."),
    "simulate": ("simulate", "Hold a simulated user against a file of ruled replies."),
    "import": ("import_", "Read released instances and recorded runs into the store."),
    "index": ("index", "Build and search passage indexes."),
    "ingest": ("ingest", "Read filings and exports into one fact table."),
    "construct": ("construct", "Make a benchmark of your own from a fact store."),
    "audit": ("audit", "Hold a set of instances against the fourteen rules; find what it gives away."),
    "verify": ("verify", "Recompute what a set or a capsule states of itself."),
    "models": ("models", "List the model cards and whether each can run here."),
    "bundle": ("bundle", "Fill a folder that installs the kit on a machine without a network."),
    "doctor": ("doctor", "Examine this machine; say what is missing and what brings it."),
    "train": ("train", "Teach a model to clarify: demonstrations, SFT, KTO, GRPO."),
    "probe": ("probe", "Find where ambiguity lives in a model's hidden states."),
    "probe-compare": ("probe_compare", "Two probe results side by side."),
}


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command is used, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        importlib.import_module("fiqkit.quiet").quiet()
        module = importlib.import_module(f"fiqkit.commands.{COMMANDS[name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fiqkit")
def fiqkit() -> None:
    """Measure whether a model notices that a financial question is ambiguous, asks, and gets the number right."""


def main(args: list[str] | None = None) -> Any:
    """Entry point of the console script. Exit codes: 0 done, 1 done but for some failures, 2 bad input,
    3 below --fail-under, 130 interrupted."""
    offline.enforce()
    try:
        fiqkit.main(args=args, prog_name="fiqkit", standalone_mode=False)
    except UserError as error:
        _fail(f"fiqkit: {error}")
    except NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fiqkit"
        _fail(f"{command}: {error.format_message()} ({command} --help)")
    except click.ClickException as error:
        _fail(f"fiqkit: {error.format_message()}")
    except OSError as error:
        if error.errno in _OF_A_PATH and error.filename is not None:
            _fail(f"fiqkit: {error.filename}: {error.strerror}; check the path, its permissions and the disk")
        if error.errno in _OF_THE_DISK:
            _fail(f"fiqkit: {error.strerror}; check the disks that files are read from and written to")
        raise  # a bug keeps its traceback
    except (KeyboardInterrupt, click.Abort):
        click.echo("fiqkit: interrupted", err=True)
        sys.exit(130)
    except Exception:
        files = sys.modules.get("fiqkit.sqlite_file")
        damaged = files.damage() if files else None
        if damaged is None:
            raise  # a bug keeps its traceback
        _fail(f"fiqkit: {damaged}")


# What a path that was given, or the disk under it, can be at fault for. Reading and writing name no file.
_OF_THE_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OF_A_PATH = (
    *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EROFS, errno.ELOOP),
    *(errno.ENAMETOOLONG, *_OF_THE_DISK),
)


def _fail(text: str) -> None:
    """Print one line, whatever the text quotes, and end with exit code 2."""
    line = "".join(mark if mark.isprintable() else f"\\x{ord(mark):02x}" for mark in _SPACES.sub(" ", text))
    click.echo(line, err=True)
    sys.exit(2)


_SPACES = re.compile(r"\s*[\n\r\t\v\f]\s*")

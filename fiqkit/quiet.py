"""Other libraries' chatter, kept off the terminal: a person who starts a run is told what this kit has to say.

Their warnings, notes and progress bars are dropped; what they log as an error is shown, and so is all that this kit
logs. `FIQKIT_NOISE=1` shows everything.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings

import click

NOISE = "FIQKIT_NOISE"

# Of libraries that read them when they are imported, here and in child processes.
VARIABLES = {
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "DATASETS_VERBOSITY": "error",
    "TQDM_DISABLE": "1",
    "PYTHONWARNINGS": "ignore",
}


class _Said(logging.Handler):
    """This kit's warnings, as lines on whatever standard error is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        click.echo(f"fiqkit: {record.getMessage()}", err=True)


def quiet() -> None:
    """Silence what is not this kit's and no error. Safe to call again; variables that are set already stand."""
    if os.environ.get(NOISE):
        return
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    if not sys.warnoptions:  # python -W
        warnings.simplefilter("ignore")
    # The handler of whoever has none, such as bitsandbytes, matplotlib and bm25s.
    if logging.lastResort is not None:
        logging.lastResort.setLevel(logging.ERROR)
    own = logging.getLogger("fiqkit")
    if not own.handlers:
        own.addHandler(_Said(logging.WARNING))

"""The commands that lead on from a run, with its own ids filled in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fiqkit.agent.reference import POLICIES
from fiqkit.store.browse import Wanted, find
from fiqkit.store.store import DEFAULT_STORE, Store


def next_steps(store_file: Path, run: str) -> list[tuple[str, str]]:
    """(What it shows, arguments of `fiqkit`) for one telling episode, the wrong ones, and the page.

    The episode is one in which a model asked, else one of a model, else any.
    """
    at = "" if str(store_file) == DEFAULT_STORE else f" --store {store_file}"
    with closing(Store(store_file)) as store:
        models = [model for model in store.models(run) if model not in POLICIES]
        for wanted in (*(Wanted(model=m, asked=asked) for asked in (True, False) for m in models), Wanted()):
            if found := next(iter(find(store, run, wanted, 1)), None):
                return [
                    ("read one:", f"show {run} --episode {found['episode']}{at}"),
                    ("what missed:", f"episodes {run} --wrong{at}"),
                    ("the page:", f"report {run} --html report.html{at}"),
                ]
    return []

"""Which items train, which choose between checkpoints, and which are read once at the end; companies stay whole.

{"train": ["meta-1", …], "validation": […], "test": […]}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random

from fiqkit.errors import UserError
from fiqkit.records import Instance
from fiqkit.run.draw import orbits_in_turn

NAMES = ("train", "validation", "test")
_SHARES = (0.6, 0.1)  # of the companies, for train and validation; the rest is test


def read(path: Path, instances: Sequence[Instance]) -> dict[str, list[Instance]]:
    """The splits of a file, as instances.

    Raises:
        UserError: not a file of splits, an unknown id, or a company that stands in two of them.
    """
    try:
        table = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a file of splits ({error})") from None
    if not isinstance(table, Mapping) or not all(isinstance(table.get(name), list) for name in NAMES):
        raise UserError(f"{path}: not a file of splits; an object with lists of ids is needed: {', '.join(NAMES)}")
    by_id = {instance.instance_id: instance for instance in instances}
    unknown = next((key for name in NAMES for key in table[name] if key not in by_id), None)
    if unknown is not None:
        raise UserError(f"{path}: {unknown!r} is not among the instances; name the file that the splits belong to")
    found = {name: [by_id[key] for key in table[name]] for name in NAMES}
    check(found, str(path))
    return found


def check(splits: Mapping[str, Sequence[Instance]], where: str) -> None:
    """Refuse splits that share a company: what was learned of it would pass for skill.

    Raises:
        UserError: names the company and the two splits.
    """
    seen: dict[str, str] = {}
    for name in NAMES:
        for instance in splits[name]:
            first = seen.setdefault(instance.cluster, name)
            if first != name:
                raise UserError(
                    f"{where}: {instance.cluster} stands in {first} and in {name}; companies must stay whole"
                )


def by_company(instances: Sequence[Instance]) -> dict[str, list[Instance]]:
    """Splits for a set that has none: companies in an order drawn from their names, the same on every machine."""
    companies = _in_drawn_order(instances)
    if len(companies) < len(NAMES):
        raise UserError(f"{len(companies)} companies cannot be split into {', '.join(NAMES)}; give more instances")
    first = max(1, round(len(companies) * _SHARES[0]))
    second = first + max(1, round(len(companies) * _SHARES[1]))
    second = min(second, len(companies) - 1)
    parts = dict(zip(NAMES, (companies[:first], companies[first:second], companies[second:]), strict=True))
    return {name: _of(instances, part) for name, part in parts.items()}


def _in_drawn_order(instances: Sequence[Instance]) -> list[str]:
    return sorted({i.cluster for i in instances}, key=lambda name: hashlib.sha256(name.encode()).hexdigest())


def _of(instances: Sequence[Instance], companies: Sequence[str]) -> list[Instance]:
    return [i for i in instances if i.cluster in set(companies)]


def around(test: Sequence[str], instances: Sequence[Instance]) -> dict[str, list[Instance]]:
    """Splits around test items that somebody else chose, such as the release's 51.

    What else their companies have is left out, since companies must stay whole: of the release's 37 test companies 30
    stand outside its test items as well, so that its training saw them.

    Raises:
        UserError: a test item that is not among the instances, or no company that could be trained on.
    """
    by_id = {instance.instance_id: instance for instance in instances}
    if unknown := [name for name in test if name not in by_id]:
        raise UserError(f"the test item {unknown[0]!r} is not among the instances")
    chosen = [by_id[name] for name in dict.fromkeys(test)]
    tested = {instance.cluster for instance in chosen}
    rest = _in_drawn_order([instance for instance in instances if instance.cluster not in tested])
    if not chosen or len(rest) < 2:
        raise UserError(f"{len(chosen)} test items leave {len(rest)} companies to train and validate on")
    most = max(1, round(len(rest) * _SHARES[1] / sum(_SHARES)))
    validation, train = rest[:most], rest[most:]
    parts = {"train": train, "validation": validation}
    return {name: _of(instances, companies) for name, companies in parts.items()} | {"test": chosen}


def of_categories(splits: Mapping[str, Sequence[Instance]], categories: Sequence[str]) -> dict[str, list[Instance]]:
    """The splits with items of these primary categories alone to train and validate on; () leaves all.

    The test split stays whole: it shows what becomes of the other categories.

    Raises:
        UserError: nothing is left to train on.
    """
    kept = {name: [i for i in part if not categories or i.primary in categories] for name, part in splits.items()}
    if categories and not kept["train"]:
        raise UserError(f"no item of the train split has the primary category {' or '.join(categories)}")
    return {**kept, "test": list(splits["test"])}


def draw(instances: Sequence[Instance], most: int, *, spread: bool = False) -> list[Instance]:
    """At most so many instances, each orbit from the primary category that has the fewest instances so far.

    Args:
        spread: one sibling of as many orbits as there are before a second one: what is learned from. Else whole orbits:
            only those say whether an intent was resolved.
    """
    orbits = orbits_in_turn(instances, seed=0)
    if spread:
        shuffle = Random(0)
        mixed = [shuffle.sample(siblings, len(siblings)) for siblings in orbits]
        orbits = [[one] for turn in zip_longest(*mixed) for one in turn if one]
    columns: dict[str, list[list[Instance]]] = {}
    for siblings in orbits:
        columns.setdefault(siblings[0].primary, []).append(siblings)
    drawn: dict[str, list[Instance]] = {name: [] for name in columns}
    while columns:
        name = min(columns, key=lambda name: len(drawn[name]))
        siblings = columns[name].pop(0)
        if sum(map(len, drawn.values())) + len(siblings) <= most:
            drawn[name] += siblings
        if not columns[name]:
            del columns[name]
    return [one for part in drawn.values() for one in part]

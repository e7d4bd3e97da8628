"""Which instances of a set a run takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import zip_longest
from random import Random

from fiqkit.errors import UserError
from fiqkit.records import Instance

STRATA: dict[str, Callable[[Instance], str]] = {
    "category": lambda instance: instance.primary,
    "language": lambda instance: instance.language,
    "company": lambda instance: instance.cluster,
    "h0": lambda instance: f"{instance.h0:.3f}",
}


def select(
    instances: Sequence[Instance],
    *,
    only: Sequence[str] = (),
    language: str | None = None,
    orbits: int | None = None,
    limit: int | None = None,
    sample: int | None = None,
    stratify: Sequence[str] = (),
    seed: int = 0,
) -> list[Instance]:
    """Draw `sample` instances, in equal shares of the strata as far as they reach; keep the first `limit` of them.

    With neither, all of them, in the order of the file.

    Args:
        only: ids of the instances to draw from; none means all.
        language: draw from those in it alone.
        orbits: draw so many whole orbits, from each primary category in turn.

    Raises:
        UserError: an id that no instance has, a language that none is in, an unknown stratum, a number below 1, orbits
            and a sample, or strata without a sample.
    """
    for name, number in (("--limit", limit), ("--sample", sample), ("--orbits", orbits)):
        if number is not None and number < 1:
            raise UserError(f"{name} is {number}; it must be at least 1")
    unknown = [name for name in stratify if name not in STRATA]
    if unknown:
        raise UserError(f"--stratify knows no {unknown[0]!r}; it knows {', '.join(STRATA)}")
    if orbits is not None and sample is not None:
        raise UserError("--orbits and --sample both draw; give one of them")
    if stratify and sample is None:
        raise UserError("--stratify says how to draw a sample; add --sample N")
    if missing := set(only) - {instance.instance_id for instance in instances}:
        raise UserError(
            f"--instance {min(missing)!r}: no instance has this id; the first is {instances[0].instance_id!r}"
        )
    instances = [instance for instance in instances if not only or instance.instance_id in only]
    instances = [instance for instance in instances if language in (None, instance.language)]
    if not instances:
        raise UserError(f"--language {language}: no instance is in it")
    if orbits is not None:
        return [one for siblings in orbits_in_turn(instances, seed)[:orbits] for one in siblings][:limit]
    chosen = list(instances) if sample is None else _sample(instances, sample, stratify, seed)
    return chosen[:limit]


def _sample(instances: Sequence[Instance], size: int, stratify: Sequence[str], seed: int) -> list[Instance]:
    strata: dict[tuple[str, ...], list[Instance]] = defaultdict(list)
    for instance in instances:
        strata[tuple(STRATA[name](instance) for name in stratify)].append(instance)
    draw = Random(seed)
    columns = [draw.sample(strata[key], len(strata[key])) for key in sorted(strata)]
    draw.shuffle(columns)  # so that no stratum is always the first to get a remainder
    dealt = [column[row] for row in range(max(map(len, columns), default=0)) for column in columns if row < len(column)]
    return dealt[:size]


def orbits_in_turn(instances: Sequence[Instance], seed: int) -> list[list[Instance]]:
    """Whole orbits, from each primary category in turn as far as it reaches; an instance outside orbits is its own."""
    orbits: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        orbits[instance.orbit or instance.instance_id].append(instance)
    strata: dict[str, list[list[Instance]]] = defaultdict(list)
    for siblings in orbits.values():
        strata[siblings[0].primary].append(siblings)
    draw = Random(seed)
    columns = [draw.sample(strata[key], len(strata[key])) for key in sorted(strata)]
    return [siblings for turn in zip_longest(*columns) for siblings in turn if siblings]

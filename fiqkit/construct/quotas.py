"""Which orbits make a set: quotas by category, language and topic, solved jointly, then filled company by company.

How many orbits of each (miner, language, topic, number of readings) are taken is one integer program: it meets the
quotas of category and language as far as the supply allows, and among all ways to meet them takes the one in which a
topic says least about the category, each miner is seen, and orbits have more than two readings. Of a kind, orbits of
the years that the set has least of come first. What then fails to fit (a company states one period and asks each topic
once) lowers the supply, and the program is solved again.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil

import numpy as np

from fiqkit.construct.orbits import Orbit
from fiqkit.construct.topics import topics

Cell = tuple[str, str]  # (category, language)
Kind = tuple[str, str, str, int]  # (miner, language, topic, readings)

_ROUNDS = 12
_MISSING = 1000.0  # weight of an instance that a quota lacks, beside one that a topic gives away
_SEEN, _FIRST = 1.0, 3  # and of each of a miner's first orbits
_RICH = 0.6  # and of an orbit with more than two readings: a guess is right less often on it


@dataclass(frozen=True)
class Limits:
    """What a set may hold of one thing.

    Attributes:
        a_company: orbits of one company.
        topic_share: of a cell's orbits, at most this share asks for one topic, by language.
        subtype_share: miner → the share of its category's instances that it may give at most.
    """

    a_company: int = 3
    topic_share: Mapping[str, float] = field(default_factory=lambda: {"en": 0.25, "zh": 0.6})
    subtype_share: Mapping[str, float] = field(
        default_factory=lambda: {"recognition_policy/property": 0.5, "temporal_scope/balance date": 0.4}
    )


@dataclass
class Choice:
    """The orbits of a set, and what it lacks.

    Attributes:
        short: cell → (instances wanted, instances had), for cells that fall short by more than a tenth.
        refused: reason → orbits that were tried and not taken.
    """

    orbits: list[Orbit]
    short: dict[Cell, tuple[int, int]]
    refused: Counter[str]


def choose(
    orbits: Sequence[Orbit],
    quotas: Mapping[Cell, int],
    seed: int,
    admit: Callable[[Orbit, Sequence[Orbit]], str] = lambda orbit, others: "",
    limits: Limits | None = None,
    kept: Sequence[Orbit] = (),
) -> Choice:
    """Orbits that meet quotas of instances by category and language.

    Args:
        admit: why an orbit cannot join a company's others, "" when it can.
        kept: orbits of an earlier choice, which stay, but for those that are not admitted any more; only what quotas
            lack beside them is chosen.
    """
    limits = limits or Limits()
    held = _held(kept, admit)
    lacking_of = _lacking(held, quotas)
    keys = {orbit.key for orbit in held}
    pool = _pool([orbit for orbit in orbits if orbit.key not in keys], seed)
    supply = {kind: len({o.source.code for o in found}) for kind, found in pool.items()}
    best: list[Orbit] = held
    refused: Counter[str] = Counter()
    told: dict[tuple[int, ...], str] = {}

    def ruled(orbit: Orbit, others: Sequence[Orbit]) -> str:
        """What `admit` says, asked once for all rounds."""
        asked = (id(orbit), *map(id, others))
        if asked not in told:
            told[asked] = admit(orbit, others)
        return told[asked]

    for _ in range(_ROUNDS):
        plan = plan_counts(supply, lacking_of, limits, _asked(held))
        taken, refused = _fill(pool, plan, ruled, limits, held)
        if _instances(taken) >= _instances(best):
            best = taken
        had = Counter(map(kind_of, taken)) - Counter(map(kind_of, held))
        lacking = [kind for kind, count in plan.items() if had[kind] < count]
        if not lacking:
            break
        for kind in lacking:
            supply[kind] = had[kind]
    return Choice(best, shortfalls(best, quotas), refused)


def _held(kept: Iterable[Orbit], admit: Callable[[Orbit, Sequence[Orbit]], str]) -> list[Orbit]:
    """Those of an earlier choice that are still admitted beside one another, in the order of their companies."""
    held: dict[str, list[Orbit]] = defaultdict(list)
    for orbit in kept:
        others = held[orbit.source.code]
        if not admit(orbit, others):
            others.append(orbit)
    return [orbit for code in sorted(held) for orbit in held[code]]


def _lacking(held: Iterable[Orbit], quotas: Mapping[Cell, int]) -> dict[Cell, int]:
    """What quotas want beyond the orbits that are there."""
    had: Counter[Cell] = Counter()
    for orbit in held:
        had[orbit.category, orbit.source.language] += len(orbit.alternatives)
    return {cell: wanted - had[cell] for cell, wanted in quotas.items() if wanted > had[cell]}


def _asked(held: Iterable[Orbit]) -> Counter[tuple[str, str, str]]:
    """Instances that are there by (language, topic, category)."""
    had: Counter[tuple[str, str, str]] = Counter()
    for orbit in held:
        had[orbit.source.language, orbit.topic, orbit.category] += len(orbit.alternatives)
    return had


def _instances(orbits: Iterable[Orbit]) -> int:
    return sum(len(orbit.alternatives) for orbit in orbits)


def shortfalls(orbits: Iterable[Orbit], quotas: Mapping[Cell, int]) -> dict[Cell, tuple[int, int]]:
    """Cells that lack more than a tenth of their quota of instances."""
    had: Counter[Cell] = Counter()
    for orbit in orbits:
        had[orbit.category, orbit.source.language] += len(orbit.alternatives)
    return {cell: (wanted, had[cell]) for cell, wanted in quotas.items() if had[cell] < 0.9 * wanted}


def kind_of(orbit: Orbit) -> Kind:
    """What the plan counts an orbit as."""
    return orbit.miner, orbit.source.language, orbit.topic, len(orbit.alternatives)


def cell_of(kind: Kind) -> Cell:
    """The quota that a kind counts towards."""
    return kind[0].partition("/")[0], kind[1]


def _pool(orbits: Sequence[Orbit], seed: int) -> dict[Kind, list[Orbit]]:
    """Orbits by kind, in a seeded order that does not depend on theirs."""
    pool: dict[Kind, list[Orbit]] = defaultdict(list)
    for orbit in sorted(orbits, key=lambda o: (o.key, o.miner, o.source.accession or "")):
        pool[kind_of(orbit)].append(orbit)
    for kind, found in pool.items():
        random.Random(f"{seed} {kind}").shuffle(found)
    return dict(sorted(pool.items()))


def plan_counts(
    supply: Mapping[Kind, int],
    quotas: Mapping[Cell, int],
    limits: Limits,
    had: Mapping[tuple[str, str, str], int] | None = None,
) -> dict[Kind, int]:
    """Orbits of each kind: the integer program.

    Minimises the instances that quotas lack, then the sum over topics of the instances of the topic's commonest
    category (what knowing the topic would let one guess right), less a part of the orbits with more than two readings
    and of each miner's first.

    Args:
        had: (language, topic, category) → instances that the set has already.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    kinds = [kind for kind in sorted(supply) if supply[kind] and cell_of(kind) in quotas]
    if not kinds:
        return {}
    cells = sorted(quotas)
    words = sorted({kind[1:3] for kind in kinds})
    size = {kind: kind[3] for kind in kinds}
    miners = sorted({(kind[0], kind[1]) for kind in kinds})
    n, c, w, m = len(kinds), len(cells), len(words), len(miners)
    # variables: orbits of each kind, instances that each cell lacks, instances of each topic's commonest category, and
    # how many of each miner's first orbits there are
    rich = [-_RICH if size[kind] > 2 else -1e-3 for kind in kinds]
    cost = np.concatenate([rich, np.full(c, _MISSING), np.ones(w), np.full(m, -_SEEN)])
    rows, low, high = [], [], []

    def add(weights: Sequence[float], own: int | None, least: float, most: float) -> None:
        """A constraint on the kinds' counts, and on one other variable, by its place after them."""
        row = np.zeros(n + c + w + m)
        row[:n] = weights
        if own is not None:
            row[n + own] = 1
        if row[:n].any() or least > 0:
            rows.append(row)
            low.append(least)
            high.append(most)

    for place, cell in enumerate(cells):
        counted = [size[kind] * (cell_of(kind) == cell) for kind in kinds]
        add(counted, place, quotas[cell], np.inf)
        add(counted, None, 0, quotas[cell] + 2)
    had = had or {}
    categories = sorted({cell[0] for cell in cells} | {known[2] for known in had})
    for (place, word), category in product(enumerate(words), categories):
        counted = [-size[k] * (k[1:3] == word and cell_of(k)[0] == category) for k in kinds]
        add(counted, c + place, had.get((*word, category), 0), np.inf)
    for place, miner in enumerate(miners):
        add([-1.0 * (kind[:2] == miner) for kind in kinds], c + w + place, -np.inf, 0)
    for name, share in limits.subtype_share.items():
        category = name.partition("/")[0]
        most = share * sum(wanted for cell, wanted in quotas.items() if cell[0] == category)
        add([size[kind] * (kind[0] == name) for kind in kinds], None, 0, most)
    upper = [min(supply[kind], _most_of(kind, kinds, quotas[cell_of(kind)] / size[kind], limits)) for kind in kinds]
    bounds = Bounds(np.zeros(n + c + w + m), np.concatenate([upper, np.full(c + w, np.inf), np.full(m, _FIRST)]))
    integral = np.concatenate([np.ones(n), np.zeros(c + w + m)])
    done = milp(
        cost,
        constraints=LinearConstraint(np.array(rows), low, high),
        bounds=bounds,
        integrality=integral,
        options={"mip_rel_gap": 0.02, "node_limit": 200},  # no limit of time: the same set on any machine
    )
    if done.x is None:
        return {}
    return {kind: round(count) for kind, count in zip(kinds, done.x[:n], strict=True) if round(count)}


def _most_of(kind: Kind, kinds: Sequence[Kind], wanted: float, limits: Limits) -> int:
    """Orbits that one kind may give of so many wanted: its topic's share, or an even part where topics are few."""
    few = len({other[2] for other in kinds if cell_of(other) == cell_of(kind)})
    return max(int(limits.topic_share.get(kind[1], 1.0) * wanted), ceil(wanted / few))


def _fill(
    pool: Mapping[Kind, list[Orbit]],
    plan: Mapping[Kind, int],
    admit: Callable[[Orbit, Sequence[Orbit]], str],
    limits: Limits,
    held: Sequence[Orbit] = (),
) -> tuple[list[Orbit], Counter[str]]:
    """Take the planned numbers, scarce kinds first, of the years that have the fewest orbits yet, then companies."""
    taken: dict[str, list[Orbit]] = defaultdict(list)
    for orbit in held:
        taken[orbit.source.code].append(orbit)
    years = Counter(_year(orbit) for orbit in held)
    refused: Counter[str] = Counter()
    for kind in sorted(plan, key=lambda k: (len({o.source.code for o in pool[k]}) / plan[k], k)):
        left, count = list(pool[kind]), 0
        while left and count < plan[kind]:
            # The list is shuffled, and the first of equals is taken: among them the draw decides.
            orbit = min(left, key=lambda o: (years[_year(o)], len(taken[o.source.code])))
            left.remove(orbit)
            others = taken[orbit.source.code]
            why = _clash(orbit, others, limits) or admit(orbit, others)
            if why:
                refused[why] += 1
                continue
            others.append(orbit)
            years[_year(orbit)] += 1
            count += 1
    return [orbit for code in sorted(taken) for orbit in taken[code]], refused


def _year(orbit: Orbit) -> tuple[str, str]:
    """The year that it asks about, by language."""
    return orbit.source.language, orbit.source.end[:4]


def _clash(orbit: Orbit, others: Sequence[Orbit], limits: Limits) -> str:
    """Why a company cannot have another orbit beside those it has."""
    if len(others) >= limits.a_company:
        return "company has enough"
    family = topics()[orbit.topic].family
    if any(topics()[other.topic].family == family for other in others):
        return "topic asked already"
    if any(other.source.end != orbit.source.end for other in others):
        return "another period"
    return ""

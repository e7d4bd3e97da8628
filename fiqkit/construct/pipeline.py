"""From a fact store to a set: mine, scan, choose by quota, construct, hold against the rules, add passages.

Every step counts what it passed and what it turned away and why; the counts are the funnel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from fiqkit.construct import rules
from fiqkit.construct.facts import render
from fiqkit.construct.holdings import Company, companies
from fiqkit.construct.miners import mine
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.quotas import Cell, Choice, Limits, choose, shortfalls
from fiqkit.construct.statements import statements
from fiqkit.construct.verifier import REJECTED, orbit_ruling
from fiqkit.errors import UserError
from fiqkit.filings.store import FactStore
from fiqkit.records import Instance, Passage
from fiqkit.taxonomy import CATEGORIES, LANGUAGES

CHINESE_SHARE = 0.25
# A set's share of each category. The last two are asked of few lines that no other category is asked of, so that more
# of them would let the words of a question tell its category.
SHARES = {
    "entity_scope": 0.23,
    "temporal_scope": 0.23,
    "metric_definition": 0.23,
    "recognition_policy": 0.155,
    "filing_vintage": 0.155,
}
# Categories that structured facts of A-share companies hardly hold: tables give one period and one basis a line.
_RARE_IN_CHINESE = ("temporal_scope", "recognition_policy", "filing_vintage")


@dataclass
class Built:
    """A set and how it came about.

    Attributes:
        funnel: step → what passed it.
        refused: reason → orbits that were turned away for it.
        short: cell → (instances wanted, instances had), where a quota lacks more than a tenth.
        quotas: cell → instances wanted.
        pinned: company → the split that it stays in.
    """

    instances: list[Instance]
    passages: list[Passage]
    orbits: list[Orbit]
    funnel: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    short: dict[Cell, tuple[int, int]] = field(default_factory=dict)
    quotas: Mapping[Cell, int] = field(default_factory=dict)
    pinned: Mapping[str, str] = field(default_factory=dict)


def mined(
    store: FactStore, *, filed_after: str | None = None, exclude: Iterable[str] = ()
) -> tuple[list[Orbit], dict[str, int]]:
    """Every orbit that the store holds, and how many companies were read.

    Args:
        filed_after: only orbits whose filing states a date after this one (ISO).
        exclude: keys of orbits, and passage ids, that are taken.
    """
    left = set(exclude)
    names: Counter[str] = Counter()
    found: list[Orbit] = []
    count = 0
    for company in companies(store):
        count += 1
        names[company.name] += 1
        if _askable(company):
            found += mine(company)
    # Two companies of one name could not be told apart by a question.
    kept = [orbit for orbit in found if names[orbit.source.company] == 1 and orbit.key not in left]
    if filed_after:
        kept = [orbit for orbit in kept if orbit.source.filed and orbit.source.filed > filed_after]
    if not kept:
        raise UserError(
            f"{store.path}: no orbit can be mined from its {count} companies"
            + (f" with a filing after {filed_after}" if filed_after else "")
            + "; `fiqkit ingest` more filings"
        )
    return kept, {"companies": count, "mined": len(found), "eligible": len(kept)}


def _askable(company: Company) -> bool:
    """Whether a question may name the company: one that is under special treatment (ST) changes its name."""
    return "ST" not in company.name if company.language == "zh" else len(company.name) > 1


def default_quotas(target: int, orbits: Sequence[Orbit]) -> dict[Cell, int]:
    """Instances by category and language: `SHARES`, a quarter of all in Chinese where the store has both languages."""
    languages = [name for name in LANGUAGES if any(o.source.language == name for o in orbits)]
    if len(languages) == 1:
        return {(name, languages[0]): max(1, round(share * target)) for name, share in SHARES.items()}
    dense = [name for name in CATEGORIES if name not in _RARE_IN_CHINESE]
    chinese = {name: round(CHINESE_SHARE * target / len(dense)) if name in dense else 0 for name in CATEGORIES}
    quotas = {(name, "zh"): count for name, count in chinese.items() if count}
    return quotas | {(name, "en"): max(0, round(share * target) - chinese[name]) for name, share in SHARES.items()}


def build_set(
    store: FactStore,
    quotas: Mapping[Cell, int] | int,
    seed: int,
    *,
    passages: int = 0,
    filed_after: str | None = None,
    exclude: Iterable[str] = (),
    limits: Limits | None = None,
    by_rules: bool = True,
) -> Built:
    """A set by constructor `facts`.

    Args:
        quotas: instances by (category, language), or a target that is divided evenly.
        passages: how many passages the corpus is to hold at least, orbits' own included.
        by_rules: hold orbits against the verifier by rules.

    Raises:
        UserError: the store holds no orbit.
    """
    orbits, funnel = mined(store, filed_after=filed_after, exclude=exclude)
    if isinstance(quotas, int):
        quotas = default_quotas(quotas, orbits)
    built = chosen(orbits, quotas, seed, limits=limits, by_rules=by_rules)
    built.funnel = funnel | built.funnel
    return with_corpus(built, store, passages)


def chosen(
    orbits: Sequence[Orbit],
    quotas: Mapping[Cell, int],
    seed: int,
    *,
    limits: Limits | None = None,
    by_rules: bool = True,
    kept: Sequence[Orbit] = (),
) -> Built:
    """A set of mined orbits with their own passages and no others; `kept` are in it already, where rules still pass."""

    def admit(orbit: Orbit, others: Sequence[Orbit]) -> str:
        return _admit(orbit, others, seed, by_rules)

    choice: Choice = choose(orbits, quotas, seed, admit, limits, kept)
    built = rendered(interleaved(choice.orbits), seed)
    built.refused, built.short, built.quotas = choice.refused, choice.short, quotas
    return built


def rendered(orbits: Sequence[Orbit], seed: int) -> Built:
    """The instances and passages of these orbits, in their order."""
    built = Built([], [], [*orbits])
    companys = _of_company(orbits)
    for orbit in orbits:
        made = render(orbit, seed, [o.topic for o in companys[orbit.source.code] if o is not orbit])
        if made:
            built.instances += made[0]
            built.passages.append(made[1])
    built.funnel = {"chosen": len(orbits), "instances": len(built.instances)}
    return built


def with_corpus(built: Built, store: FactStore, passages: int, exclude: Iterable[str] = ()) -> Built:
    """The set with passages that no question is asked of, up to so many in all, but for those whose id is excluded."""
    built.passages += _others(store, _of_company(built.orbits), passages - len(built.passages), set(exclude))
    return built


def _of_company(orbits: Iterable[Orbit]) -> dict[str, list[Orbit]]:
    found: dict[str, list[Orbit]] = {}
    for orbit in orbits:
        found.setdefault(orbit.source.code, []).append(orbit)
    return found


def interleaved(orbits: Sequence[Orbit]) -> list[Orbit]:
    """Orbits in an order whose first few already span categories and languages: one of each cell in turn."""
    cells: dict[Cell, list[Orbit]] = {}
    for orbit in orbits:
        cells.setdefault((orbit.category, orbit.source.language), []).append(orbit)
    ranked: list[tuple[int, int, Cell]] = []
    for place, category in enumerate(CATEGORIES):
        mine = sorted((cell for cell in cells if cell[0] == category), reverse=place % 2 == 0)
        ranked += [(rank, place, cell) for rank, cell in enumerate(mine)]
    order = [cells[cell] for _, _, cell in sorted(ranked)]
    return [orbit for turn in zip_longest(*order) for orbit in turn if orbit]


def keep_share(built: Built, language: str, least: float) -> None:
    """Leave orbits of other languages unasked, the last of the fullest category first, until a language has its share.

    Their passages stay in the corpus, as ones that no question is asked of.
    """
    while built.instances and sum(i.language == language for i in built.instances) < least * len(built.instances):
        size = Counter(instance.primary for instance in built.instances)
        others = [orbit for orbit in built.orbits if orbit.source.language != language]
        most = max(size[orbit.category] for orbit in others)
        gone = [orbit for orbit in others if size[orbit.category] == most][-1]
        built.orbits.remove(gone)
        built.instances = [i for i in built.instances if i.orbit != gone.key]
    built.short = shortfalls(built.orbits, built.quotas)


def _admit(orbit: Orbit, others: Sequence[Orbit], seed: int, by_rules: bool) -> str:
    """Why an orbit cannot stand beside its company's others: too few lines for one of them, or a rule is broken."""
    everyone = [*others, orbit]
    for one in everyone:
        made = render(one, seed, [o.topic for o in everyone if o is not one])
        if made is None:
            return "too few lines for a passage"
        if one is orbit:
            cases = [rules.Case(instance, made[1].text) for instance in made[0]]
            for case in cases:
                offences = rules.broken(case, rules.PAPER) | rules.broken(case, rules.STRICTER)
                if offences:
                    return f"breaks {', '.join(sorted(offences))}"
            if by_rules and orbit_ruling(cases).outcome == REJECTED:
                return "verifier: the question's words point to one reading"
    return ""


def _others(store: FactStore, orbits: Mapping[str, list[Orbit]], wanted: int, left: set[str]) -> list[Passage]:
    """Passages beside the orbits' own: of the companies that are asked about, then of others, languages in turn."""
    own: list[Passage] = []
    rest: dict[str, list[list[Passage]]] = {}
    if wanted <= 0:
        return []
    for company in companies(store):
        mine_too = orbits.get(company.entity, [])
        if not mine_too and not _askable(company):
            continue
        made = [passage for passage in statements(company, mine_too) if passage.passage_id not in left]
        (own.extend(made) if mine_too else rest.setdefault(company.language, []).append(made) if made else None)
    found = own
    pools = {language: iter(of_company) for language, of_company in sorted(rest.items())}
    while len(found) < wanted and pools:
        for language in list(pools):
            taken = next(pools[language], None)
            if taken is None:
                del pools[language]
            else:
                found = [*found, *taken]
    return found


def read_exclusions(path: Path) -> set[str]:
    """Orbits and passages of another set, which a new one must not repeat."""
    from fiqkit.datasets import read_instances

    found = read_instances(path)
    return {name for i in found for name in (i.orbit, i.passage_id) if name}

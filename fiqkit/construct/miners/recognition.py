"""Recognition policy: on which basis an amount is recognised.

- property, amortisation, valuation: an asset at cost or net of what was written off, before or after the valuation
  allowance.
- interest: what was incurred, what was expensed of it, what was paid in cash; the rest was capitalised.
- paid: taxes, interest, restructuring, dividends as expensed or declared, or as paid in cash.
- tax effect: stock compensation before or after its tax effect.
- allowance: receivables, loans, inventories before or after what is set aside for losses on them.
- net of cost: a bank's interest income before or after its interest expense.
- premiums: written or earned, and gross or net of what goes to reinsurers; gross is net and ceded together.
- timing: revenue at a point in time, over time, or both.
- standard: before or after a new accounting standard (dimension `standard`, from tables that state both).
"""

from __future__ import annotations

from collections.abc import Iterator

from fiqkit.construct.holdings import Company, Figure
from fiqkit.construct.miners.bases import BASES, BRIDGES, Basis
from fiqkit.construct.miners.setting import Setting, beside, bridged, derived, orbit, reading, settings, total_revenue
from fiqkit.construct.orbits import Orbit
from fiqkit.construct.topics import lines

_NAME = "recognition_policy"

_TIMING = "us-gaap:TimingOfTransferOfGoodOrServiceAxis"
_TIMES = {
    "us-gaap:TransferredAtPointInTimeMember": (
        "recognized at a point in time",
        "the revenue recognized at a point in time",
    ),
    "us-gaap:TransferredOverTimeMember": ("recognized over time", "the revenue recognized over time"),
}
_STANDARD = (
    (
        "as reported under the new standard",
        "recognized under the new revenue standard, ASC 606",
        "the figure under the new revenue standard",
    ),
    (
        "under the former standard",
        "recognized under the former revenue standard, ASC 605",
        "the figure that the former revenue standard would give",
    ),
)


def mine(company: Company) -> Iterator[Orbit]:
    """Orbits over the basis of recognition."""
    if company.language != "en":
        return
    for setting in settings(company):
        found = [_basis(setting, *known) for known in BASES]
        yield from (o for o in (*found, _premiums(setting), _timing(setting), *_standards(setting)) if o)


def _basis(setting: Setting, subtype: str, topic: str, bases: tuple[Basis, ...]) -> Orbit | None:
    """None where the report does not state what makes gross net: filers give an allowance as a net figure, the cost of
    one part of what the net figure is of, inventories beside the part of them that is current."""
    # What is paid is stated for the year to date alone: all must be of one span.
    stated = [next((f for name in basis[0] if (f := setting.figure(name))), None) for basis in bases]
    found = [figure if figure and figure.value > 0 else None for figure in stated]
    if (subtype, topic) in BRIDGES and found[0] and found[-1]:
        net, gross = (found[-1], found[0]) if bases[0][2].startswith("gross") else (found[0], found[-1])
        if net.value >= gross.value or not bridged(setting, net, gross, BRIDGES[subtype, topic]):
            return None
    alternatives = [
        reading(setting, caption, figure.quantity(), topic, constraint, basis=basis) if figure else None
        for figure, (_, caption, basis, constraint) in zip(found, bases, strict=True)
    ]
    return orbit(f"{_NAME}/{subtype}", topic, setting, alternatives)


def _timing(setting: Setting) -> Orbit | None:
    """Revenue as a whole, and what of it is recognised at a point in time and over time.

    Filers put the split under whatever concept they like; it is one of revenue if both parts add up to it.
    """
    total = total_revenue(setting)
    if not total or not setting.flow:
        return None
    split: dict[str, dict[str, Figure]] = {}
    for (concept, axis, member), spans in setting.report.parts.items():
        figure = spans.get(setting.flow)
        if axis == _TIMING and member in _TIMES and figure:
            split.setdefault(concept, {})[member] = figure
    whole = next(
        (
            parts
            for _, parts in sorted(split.items())
            if len(parts) == 2 and abs(sum(f.value for f in parts.values()) - total[1].value) <= 0.005 * total[1].value
        ),
        None,
    )
    if whole is None:
        return None
    alternatives = [
        reading(
            setting,
            "Revenue, total",
            total[1].quantity(),
            "revenue",
            "the total, whenever it is recognized",
            basis="total, at a point in time and over time together",
        )
    ]
    for member, (basis, constraint) in _TIMES.items():
        if whole[member].value > 0.05 * total[1].value:
            alternatives.append(
                reading(setting, f"Revenue {basis}", whole[member].quantity(), "revenue", constraint, basis=basis)
            )
    return orbit(f"{_NAME}/timing", "revenue", setting, alternatives)


def _premiums(setting: Setting) -> Orbit | None:
    """Premiums earned, written, and written before reinsurance; the last is computed where it is not stated."""
    earned, written = setting.figure("PremiumsEarnedNet"), setting.figure("PremiumsWrittenNet")
    ceded, stated = setting.figure("CededPremiumsWritten"), setting.figure("PremiumsWrittenGross")
    gross = stated.quantity() if stated else derived("sum", written, ceded) if written and ceded else None
    found = [
        (
            earned.quantity() if earned else None,
            "Premiums earned, net of reinsurance",
            "earned, net of reinsurance",
            "the premiums earned net of reinsurance",
        ),
        (
            written.quantity() if written else None,
            "Premiums written, net of reinsurance",
            "written, net of reinsurance",
            "the premiums written net of reinsurance",
        ),
        (
            gross,
            "Premiums written, gross" if stated else "Premiums written, gross (computed)",
            "written, gross, before reinsurance",
            "the gross premiums written before reinsurance",
        ),
    ]
    alternatives = [
        reading(setting, caption, quantity, "premiums", constraint, basis=basis)
        for quantity, caption, basis, constraint in found
        if quantity and quantity.value > 0
    ]
    return orbit(f"{_NAME}/premiums", "premiums", setting, alternatives) if len(alternatives) > 1 else None


def _standards(setting: Setting) -> Iterator[Orbit | None]:
    for (concept, axis, member), spans in setting.report.parts.items():
        line = lines().get(concept)
        if axis != "standard" or member != "former" or not line:
            continue
        for span, former in spans.items():
            now = setting.report.figure(concept, span)
            if now and span in (setting.flow, setting.instant):
                yield orbit(
                    f"{_NAME}/standard",
                    line.topic,
                    setting,
                    [
                        reading(
                            setting, f"{line.caption} {said}", figure.quantity(), line.topic, constraint, basis=basis
                        )
                        for figure, (said, basis, constraint) in zip((now, former), _STANDARD, strict=True)
                    ],
                    other=beside(setting, line.topic),
                )

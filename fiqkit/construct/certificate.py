"""A certificate recomputed: every reading's value from the facts that it names, in any store that holds them.

This does not go by the miners: it looks each fact up by its name, applies the operation, and holds the result against
what the instance prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fiqkit import values
from fiqkit.construct.orbits import OPERATIONS
from fiqkit.filings.store import FactStore
from fiqkit.records import Instance


@dataclass
class Verified:
    """What a re-computation found.

    Attributes:
        recomputed: instances of which every reading follows from the store's facts.
        failed: instance → why.
    """

    n: int = 0
    recomputed: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"n": self.n, "recomputed": self.recomputed, "failed": self.failed}


def verify(instances: Iterable[Instance], store: FactStore) -> Verified:
    """Recompute every instance's certificate; one without a certificate fails."""
    done = Verified()
    for instance in instances:
        done.n += 1
        why = _why(instance, store)
        if why:
            done.failed[instance.instance_id] = why
        else:
            done.recomputed += 1
    return done


def _why(instance: Instance, store: FactStore) -> str:
    """Why a certificate does not hold; "" when it does."""
    certificate = instance.extra.get("certificate")
    listed = instance.extra.get("readings")
    if not isinstance(certificate, dict) or not isinstance(listed, list):
        return "no certificate"
    try:
        readings, intended = certificate["readings"], certificate["intended"]
        if len(readings) != len(listed):
            return f"{len(readings)} readings are certified, {len(listed)} are listed"
        for reading, shown in zip(readings, listed, strict=True):
            why = _recompute(reading, str(shown["value"]), instance.language, store)
            if why:
                return why
        if listed[intended]["value"] != instance.answer:
            return f"the answer {instance.answer!r} is not the certified {listed[intended]['value']!r}"
    except (KeyError, TypeError, IndexError) as error:
        return f"a certificate without its usual fields ({error!r:.60})"
    return ""


def _recompute(reading: dict[str, Any], shown: str, language: str, store: FactStore) -> str:
    numbers = []
    for name in reading["facts"]:
        found = look_up(store, name)
        if len(found) != 1:
            return f"{len(found) or 'no'} value{'s' * (len(found) != 1)} in the store for {name}"
        numbers += found
    operation = OPERATIONS.get(reading["operation"])
    if operation is None:
        return f"unknown operation {reading['operation']!r}"
    try:
        value = operation(numbers)
    except (ZeroDivisionError, IndexError) as error:
        return f"{reading['operation']} of {len(numbers)} facts: {error}"
    if abs(value - reading["value"]) > 1e-9 * max(1.0, abs(value)):
        return f"{reading['operation']} gives {value}, the certificate {reading['value']}"
    printed = values.find(shown, language)
    if len(printed) != 1 or abs(printed[0].number - value) > printed[0].step / 2 * (1 + 1e-6):
        return f"{shown!r} is not {value}"
    return ""


_LOOK_UP = """SELECT DISTINCT f.value FROM facts f LEFT JOIN filings g USING (accession)
    WHERE f.entity=? AND f.concept=? AND f.unit IS ? AND replace(f.dims, ' ', '')=? AND f.start IS ? AND f.end=?
    AND f.accession IS ? AND coalesce(f.form, g.form) IS ? AND coalesce(f.filed, g.filed) IS ?"""


def look_up(store: FactStore, name: str) -> list[float]:
    """The values that a store holds for a fact's name; values that are one figure at two precisions count once."""
    cells = [None if cell == "-" else cell for cell in name.split(" ")]
    if len(cells) != 9:
        return []
    entity, concept, unit, dims, start, end, form, accession, filed = cells
    form = form.replace("_", " ") if form else None
    rows = store.conn.execute(_LOOK_UP, (entity, concept, unit, dims, start, end, accession, form, filed))
    found: list[float] = []
    for (value,) in rows:
        if all(abs(value - other) > 1e-9 * abs(value) for other in found):
            found.append(value)
    return found


def certified_facts(instance: Instance) -> list[str]:
    """Every fact that an instance's certificate names."""
    certificate = json.loads(json.dumps(instance.extra.get("certificate") or {}))
    return [name for reading in certificate.get("readings", []) for name in reading.get("facts", [])]

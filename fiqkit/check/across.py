"""Instances, passages and an index held against each other."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from fiqkit import values
from fiqkit.check.files import Checked, read_file
from fiqkit.construct.rules import PAPER, STRICTER, Case, broken
from fiqkit.errors import UserError
from fiqkit.index.search import Index
from fiqkit.measurable import unmeasurable
from fiqkit.records import Instance, Passage

_SHOWN = 60  # characters of a text that a finding quotes
_LEGAL = re.compile(
    r"\b(inc|incorporated|corp|corporation|co|company|ltd|limited|plc|llc|the|group|holdings?)\b|股份|有限|公司|集团"
)
Key = TypeVar("Key", bound=Hashable)
Record = TypeVar("Record")


def check(paths: Iterable[Path], *, rules: bool = True) -> Checked:
    """Read files and index folders and hold them against each other.

    Args:
        rules: also name the construction rules that an instance breaks, where its passage is at hand.

    Raises:
        UserError: a path is none of the kinds, or cannot be read at all.
    """
    checked = Checked()
    for path in paths:
        read_file(path, checked)
    _passages(checked)
    texts = {passage.passage_id: passage for _, passage in checked.passages}
    for folder in checked.indexes:
        texts |= _index(folder, checked)
    _twice(checked)
    _orbits(checked)
    _questions(checked)
    for where, instance in checked.instances:
        for why in unmeasurable(instance):
            checked.fault(where, why)
        passage = texts.get(instance.passage_id or instance.instance_id)
        if passage is not None:
            _own_passage(where, instance, passage, checked)
            offences = broken(Case(instance, passage.text), PAPER | STRICTER) if rules else {}
            for rule, offence in offences.items():
                checked.remark(where, f"breaks construction rule {rule}: {offence}")
        elif checked.passages or checked.indexes:
            _without_passage(where, instance, checked)
    return checked


def _passages(checked: Checked) -> None:
    """Passages under one id, and one text under several."""
    for passage_id, several in _grouped((p.passage_id, where, p) for where, p in checked.passages):
        for where, passage in several[1:]:
            if passage != several[0][1]:
                checked.fault(
                    where, f"passage_id {passage_id!r:.80} already stands at {several[0][0]}, another content"
                )
    for _, several in _grouped((p.text, where, p) for where, p in checked.passages):
        for where, passage in several[1:]:
            if passage.passage_id != several[0][1].passage_id:
                checked.remark(where, f"the text of {several[0][0]} under another id; a search finds both")


def _index(folder: Path, checked: Checked) -> dict[str, Passage]:
    """The passages of an index, which must be those that were given, if any were."""
    given = [passage for _, passage in checked.passages] or None
    try:
        return dict(Index.open(folder, passages=given, lexical=True).passages)
    except UserError as fault:
        where, _, what = str(fault).partition(": ")
        checked.fault(where, what)
        return {}


def _twice(checked: Checked) -> None:
    """Instances under one id, and one instance under several."""
    for instance_id, several in _grouped((i.instance_id, where, i) for where, i in checked.instances):
        for where, _ in several[1:]:
            checked.fault(where, f"instance_id {instance_id!r:.80} already stands at {several[0][0]}")
    same = ((i.question, i.context, i.answer, i.passage_id) for _, i in checked.instances)
    for _, several in _grouped((key, *pair) for key, pair in zip(same, checked.instances, strict=True)):
        for where, instance in several[1:]:
            if instance.instance_id != several[0][1].instance_id:
                checked.remark(where, f"the same question, context and answer as {several[0][0]}; it counts twice")


def _orbits(checked: Checked) -> None:
    """Siblings share question and passage, and each reading is intended once."""
    members = ((i.orbit, where, i) for where, i in checked.instances if i.orbit)
    for orbit, several in _grouped(members):
        first = several[0][1]
        if len(several) == 1:
            checked.fault(several[0][0], f"alone in orbit {orbit!r:.60}; an orbit has a sibling for each reading")
        for where, instance in several[1:]:
            if (instance.question, instance.passage_id) != (first.question, first.passage_id):
                checked.fault(where, f"another question or passage than {several[0][0]}, in one orbit {orbit!r:.60}")
        for answer, twice in _grouped((i.answer, where, i) for where, i in several):
            for where, _ in twice[1:]:
                checked.fault(where, f"answer {answer!r:.40} is intended at {twice[0][0]} too, in orbit {orbit!r:.60}")


def _questions(checked: Checked) -> None:
    """Ruled lines are about instances that are there."""
    known = {instance.instance_id for _, instance in checked.instances}
    for where, about in checked.questions:
        if known and about is not None and about not in known:
            checked.remark(where, f"is about instance {about!r:.80}, which is not among those given")


def _own_passage(where: str, instance: Instance, passage: Passage, checked: Checked) -> None:
    """An instance's own passage is of its company and holds both values."""
    if _other_company(instance, passage):
        theirs = f"{passage.company or ''} {passage.ticker or ''}".strip()
        checked.fault(where, f"passage {passage.passage_id!r:.80} is of {theirs!r:.60}, the instance is not")
    if passage.language != instance.language:
        checked.remark(where, f"language {instance.language}, and its passage's is {passage.language}")
    for name in ("answer", "default_answer"):
        if not values.mentions(passage.text, getattr(instance, name)):
            checked.remark(where, f"its passage does not hold the {name} {getattr(instance, name)!r:.40}")
    for name in ("intended_evidence_span", "default_evidence_span"):
        span = getattr(instance, name)
        if span and " ".join(span.split()) not in " ".join(passage.text.split()):
            checked.remark(where, f"its passage does not hold the {name} {span!r:.{_SHOWN}}")


def _other_company(instance: Instance, passage: Passage) -> bool:
    """Whether both say whose they are and it is not the same; a shared name or ticker is enough."""
    if instance.ticker and passage.ticker and instance.ticker.casefold() == passage.ticker.casefold():
        return False
    ours, theirs = _name(instance.company), _name(passage.company)
    if ours and theirs:
        return ours not in theirs and theirs not in ours and ours.split()[0] != theirs.split()[0]
    return bool(instance.ticker and passage.ticker)


def _name(company: str | None) -> str:
    """A company's name without its legal form and marks."""
    return " ".join(re.sub(r"[^\w\u3400-\u9fff]+", " ", _LEGAL.sub(" ", (company or "").casefold())).split())


def _without_passage(where: str, instance: Instance, checked: Checked) -> None:
    spans = instance.intended_evidence_span.strip() and instance.default_evidence_span.strip()
    named = instance.passage_id or instance.instance_id
    if spans:
        checked.remark(where, f"passage {named!r:.80} is not at hand; one is built from the evidence spans")
    else:
        checked.fault(where, f"passage {named!r:.80} is not at hand, nor both evidence spans to build one from")


def _grouped(rows: Iterable[tuple[Key, str, Record]]) -> Iterator[tuple[Key, list[tuple[str, Record]]]]:
    """Key → its (where, record)s, in order of first sight."""
    groups: dict[Key, list[tuple[str, Record]]] = {}
    for key, where, record in rows:
        groups.setdefault(key, []).append((where, record))
    return iter(groups.items())

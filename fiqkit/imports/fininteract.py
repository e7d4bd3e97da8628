"""The FinInteract release in the store: its instances, and the runs that were recorded with it.

One file is one run. The labels of the release become verdicts of a grader and a judge that are both named `recorded`; a
field of the file that has no place in a record is kept in the episode's `extra`. Nothing is judged anew here.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fiqkit.datasets import dataset_hash, parse_instance, read_jsonl
from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Instance, Judgement, QuestionVerdict, Turn, Verdict
from fiqkit.store.load import RECORDED
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES, MODE_ORDER, THINKING, THINKING_OFF, mode_rank

MODES = {
    "answer-only": "answer",
    "answer+search": "search",
    "answer+search+interact": "interact",
    "interp-oracle": "interpretation-oracle",
}
_INSTANCES, _RUNS = "fininteract_v*.jsonl", "eval_*.jsonl"
_CENTRAL = (*CATEGORIES, "generic", "none")
_IN_RECORD = ("instance_id", "model", "final_answer", "confidence", "axis_hits", "trajectory")
_FIELD = {"interact": "question", "search": "query", "answer": "response"}
_CUT = re.compile(r"^\{'action': '\w+', '(?:question|query|response)': [\"']")

Recorded = tuple[Episode, list[Verdict]]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one file: a run's id, or the name of a data set."""

    name: str
    kind: str  # run or instances
    read: int
    added: int
    modes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def line(self) -> str:
        """For a person to read."""
        if self.kind == "instances":
            return f"{self.name}: {self.read} instances"
        already = f" ({self.added} of them new)" if self.added < self.read else ""
        return f"{self.name}: {self.read} episodes{already} of {', '.join(self.models)} in {', '.join(self.modes)}"


def import_fininteract(folder: Path, store_file: Path) -> tuple[list[Imported], list[UserError]]:
    """Read a folder of the release into the store; doing it again adds nothing.

    Args:
        folder: holds `fininteract_v*.jsonl` and `eval_*.jsonl`, anywhere below it; the folder of the runs alone
            will do where the instances lie beside or above it.
        store_file: made if it is not there.

    Returns:
        What was read, file by file, and the faults of bad lines; the good lines are in the store.

    Raises:
        UserError: no such folder, nothing of the release in it, or a file that cannot be read at all.
    """
    instance_files, run_files = _find(folder)
    faults: list[UserError] = []
    sets = {path.stem: _read_instances(path, faults) for path in instance_files}
    largest = max(sets.values(), key=len)
    store = Store(store_file, create=True)
    try:
        for instances in sets.values():
            store.add_instances(dataset_hash(instances), instances)
        imported = [Imported(name, "instances", len(found), len(found)) for name, found in sets.items()]
        imported += [_import_run(path, largest, store, faults) for path in run_files]
        store.fill_search()
    finally:
        store.close()
    return imported, faults


def _find(folder: Path) -> tuple[list[Path], list[Path]]:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; name the one that holds fininteract_v1.jsonl and its runs")
    runs = sorted(folder.rglob(_RUNS))
    instances = sorted(folder.rglob(_INSTANCES)) or sorted(folder.resolve().parent.glob(_INSTANCES))
    if not instances:
        raise UserError(f"{folder}: no {_INSTANCES} in it or above it; name the folder of the release")
    return instances, runs


def _read_instances(path: Path, faults: list[UserError]) -> list[Instance]:
    found: dict[str, Instance] = {}
    for number, row in read_jsonl(path, faults):
        try:
            instance = parse_instance(row, f"{path}:{number}")
            if instance.instance_id in found:
                raise UserError(f"{path}:{number}: instance_id {instance.instance_id!r} stands there twice; drop one")
            found[instance.instance_id] = instance
        except UserError as fault:
            faults.append(fault)
    if not found:
        raise UserError(f"{path}: holds no instance that can be read; one JSON object a line is expected")
    return list(found.values())


def _import_run(path: Path, instances: Sequence[Instance], store: Store, faults: list[UserError]) -> Imported:
    """Import one file, or what of it is not in the store yet."""
    known = {instance.instance_id for instance in instances}
    before = len(faults)
    episodes = list(_read_run(path, known, faults))
    run = path.stem
    if not any(row["run"] == run for row in store.runs()):
        manifest = {"imported": path.name, "release": "FinInteract", "grader": RECORDED, "judge": RECORDED}
        store.begin_run(run, "import", dataset_hash(instances), instances, manifest)
    elif store.resolve(run)["kind"] != "import":
        raise UserError(f"{path}: the store has a run {run!r} of its own; rename the file or name another --store")
    there = store.done(run)
    items = store.items(run)
    new = [
        (episode, verdicts)
        for episode, verdicts in episodes
        if (episode.model, episode.mode, episode.instance_id, items[episode.instance_id], 0) not in there
    ]
    store.write(run, new)
    store.set_status(run, "done" if len(faults) == before else "partial")
    modes = sorted({episode.mode for episode, _ in episodes}, key=mode_rank)
    models = tuple(dict.fromkeys(episode.model for episode, _ in episodes))
    return Imported(run, "run", len(episodes), len(new), tuple(modes), models)


def _read_run(path: Path, known: set[str], faults: list[UserError]) -> Iterator[Recorded]:
    seen: dict[tuple[str, str, str], int] = {}
    for number, row in read_jsonl(path, faults):
        where = f"{path}:{number}"
        try:
            episode, verdicts = parse_recorded(row, where)
            episode = replace(episode, model=episode.model + _thinking(path.stem))
            if episode.instance_id not in known:
                raise UserError(f"{where}: instance_id {episode.instance_id!r} is not among the released instances")
            first = seen.setdefault((episode.model, episode.mode, episode.instance_id), number)
            if first != number:
                raise UserError(f"{where}: the same model, mode and instance stand in line {first} already; drop one")
            yield episode, verdicts
        except UserError as fault:
            faults.append(fault)


def _thinking(name: str) -> str:
    """The mark of an agent whose file says that thinking was on or off: eval_think_on_…, eval_think_off_…"""
    return {"on": THINKING, "off": THINKING_OFF}.get((re.match(r"eval_think_(on|off)_", name) or ["", ""])[1], "")


# --- one line -------------------------------------------------------------------------------------------------------


def parse_recorded(row: Mapping[str, Any], where: str) -> Recorded:
    """An episode and its recorded verdicts from one line of a run file; `where` (file:line) begins each error message.

    Raises:
        UserError: a field is missing or of the wrong type, or the mode is unknown.
    """
    instance_id, model = (_field(row, name, str, where, needed=True) for name in ("instance_id", "model"))
    mode = _mode(row, where)
    response = _field(row, "final_answer", str, where) or None
    asked, judgements = _questions(row, where)
    counted = [_field(row, name, int, where) for name in ("n_turns", "n_asks", "n_searches")]
    recorded = _steps(row, where)
    turns = _turns(recorded, asked, counted[1], response)
    episode = Episode(
        instance_id=instance_id,
        model=model,
        mode=mode,
        ending=_ending(mode, response, len(turns), counted[1]),
        answer=response,
        confidence=_field(row, "confidence", (int, float), where),
        turns=turns,
        flags=tuple(_flags(recorded, turns)),
        retrieval="own",  # whatever the query, a search of the release returned the instance's own passage
        extra={name: value for name, value in row.items() if name not in _IN_RECORD},
    )
    at = [index for index, turn in enumerate(turns) if turn.action == "interact" and turn.refused is None]
    verdicts: list[Verdict] = [
        AnswerVerdict(
            RECORDED,
            None,
            _field(row, "correct", bool, where),
            _field(row, "default_captured", bool, where),
        )
    ]
    verdicts += [QuestionVerdict(RECORDED, turn, given) for turn, given in zip(at, judgements, strict=False)]
    return episode, verdicts


def _field(row: Mapping[str, Any], name: str, kind: Any, where: str, *, needed: bool = False) -> Any:
    """A field of the type `kind`, or None where it is absent or null and not needed. A boolean is no number."""
    value = row.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise UserError(f"{where}: field {name!r} is {value!r:.40}; a {kinds[-1].__name__} is needed")
    return value


def _mode(row: Mapping[str, Any], where: str) -> str:
    """The mode by the protocol's name: recorded names are mapped, and forced questions are a mode of their own."""
    recorded = _field(row, "mode", str, where, needed=True)
    forced = _field(row, "forced_n", int, where)
    if forced:
        return f"forced-interact-{forced}"
    mode = MODES.get(recorded, recorded)
    if mode_rank(mode)[0] == len(MODE_ORDER):
        raise UserError(f"{where}: mode {recorded!r} is unknown; known are {', '.join((*MODES, *MODE_ORDER))}")
    return mode


def _questions(row: Mapping[str, Any], where: str) -> tuple[list[str], list[Judgement]]:
    """The questions that reached the user, in full, and what the recorded judge made of each."""
    hits = _field(row, "axis_hits", list, where) or []
    asked, judgements = [], []
    for hit in hits:
        if not isinstance(hit, dict) or not isinstance(hit.get("question"), str):
            raise UserError(f"{where}: an entry of field 'axis_hits' has no text 'question'")
        label = hit.get("axis_pred")
        central = label if label in _CENTRAL else "unscored"
        asked.append(hit["question"])
        judgements.append(Judgement(None, central))  # one label a question: what else it raises is unknown
    return asked, judgements


def _steps(row: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    """(action, what the agent wrote) of each recorded turn."""
    steps = _field(row, "trajectory", list, where) or []
    for step in steps:
        if not isinstance(step, dict) or not all(isinstance(step.get(name), str) for name in ("action", "content")):
            raise UserError(f"{where}: an entry of field 'trajectory' needs the texts 'action' and 'content'")
    return [(step["action"], step["content"]) for step in steps]


def _turns(
    recorded: Sequence[tuple[str, str]], asked: Sequence[str], n_asks: int | None, response: str | None
) -> tuple[Turn, ...]:
    """The turns of an episode.

    The trajectories are cut at 200 characters; questions and the final answer stand elsewhere in the line in full and
    take the place of the cut text. An `interact` past the number of questions asked never reached the user. Where no
    trajectory was recorded, questions and answer are all there is.
    """
    if not recorded:
        turns = [Turn("interact", {"question": question}) for question in asked]
        return (*turns, Turn("answer", {"response": response})) if response else tuple(turns)
    reached = max(len(asked), n_asks or 0)
    waiting = iter(asked)
    turns = []
    for name, text in recorded:
        action = name.removesuffix("_unstructured")
        content, refused = _content(action, text), None
        if action == "interact":
            question = next(waiting, None)
            content = content if question is None else {"question": question}
            refused = None if reached > 0 else "not recorded as asked: beyond the question budget"
            reached -= 1
        elif action == "answer" and response:
            content = {"response": response}
        turns.append(Turn(action, content, text=text, refused=refused))
    turns.extend(Turn("interact", {"question": question}) for question in waiting)
    return tuple(turns)


def _content(action: str, text: str) -> dict[str, Any]:
    """The action's own fields from its recorded text, a Python literal that may be cut short."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a cut text may end in what looks like a bad escape or number
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if isinstance(value, dict) and isinstance(value.get(_FIELD.get(action, "action")), str):
        return {str(name): item for name, item in value.items() if name != "action"}
    return {_FIELD.get(action, "text"): _CUT.sub("", text)}


def _ending(mode: str, response: str | None, turns: int, asks: int | None) -> Ending:
    """How the recorded episode ended. The files do not say; a run without a turn is one whose first reply was lost."""
    if response:
        forced = re.fullmatch(r"forced-interact-(\d+)", mode)
        early = forced is not None and asks is not None and asks < int(forced[1])
        return Ending.EARLY_ANSWER if early else Ending.ANSWERED
    return Ending.BUDGET if turns else Ending.PARSE_FAILURE


def _flags(recorded: Sequence[tuple[str, str]], turns: Sequence[Turn]) -> Iterator[str]:
    if any(action == "answer_unstructured" for action, _ in recorded):
        yield "answer_unstructured"
    if not recorded:
        yield "trajectory_not_recorded"
    if any(len(text) >= 200 for _, text in recorded):
        yield "trajectory_cut"

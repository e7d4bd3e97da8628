"""Finding episodes in a store: one line an episode, by how it ended, what was graded, who played it, what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fiqkit.errors import UserError
from fiqkit.records import Ending, Outcome
from fiqkit.store.load import RECORDED, RULES, find_giver, verdict_givers
from fiqkit.store.store import Store
from fiqkit.taxonomy import CATEGORIES, LANGUAGES

_SHOWN = 20  # names that a message lists

# What a list shows of an episode, as the store's views do.
_COLUMNS = (
    "e.episode, e.run, e.model, e.mode, e.retrieval, e.instance_id, e.sample, i.language, "
    "i.primary_category AS category, e.ending, v.outcome, v.is_intended, v.is_default, e.n_turns AS turns, "
    "e.n_asks AS asks, e.confidence, e.answer, i.question, e.error"
)


def _one_of(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        shown = ", ".join([*map(str, known[:_SHOWN]), *(["…"] if len(known) > _SHOWN else [])])
        raise UserError(f"--{name} {value!r} is none of {shown or 'those there are: there are none'}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which episodes; what is left out does not matter.

    Attributes:
        outcome: a grader's verdict, such as "default". ending: how the episode ended, such as "budget".
        wrong: counted, and not the intended answer. asked: at least one question reached the user.
        text: words that the question, a turn or the answer holds.
    """

    model: str | None = None
    mode: str | None = None
    instance: str | None = None
    category: str | None = None
    language: str | None = None
    outcome: str | None = None
    ending: str | None = None
    wrong: bool = False
    asked: bool = False
    text: str | None = None
    grader: str | None = None

    def __post_init__(self) -> None:
        _one_of("outcome", self.outcome, list(Outcome))
        _one_of("ending", self.ending, list(Ending))
        _one_of("category", self.category, list(CATEGORIES))
        _one_of("language", self.language, LANGUAGES)

    def conditions(self) -> tuple[str, list[Any]]:
        """SQL over `_COLUMNS`' tables, and its parameters."""
        equal = {
            "e.model": self.model,
            "e.mode": self.mode,
            "e.instance_id": self.instance,
            "i.primary_category": self.category,
            "i.language": self.language,
            "v.outcome": self.outcome,
            "e.ending": self.ending,
        }
        terms = [f"{column} = ?" for column, value in equal.items() if value is not None]
        given: list[Any] = [value for value in equal.values() if value is not None]
        if self.wrong:
            terms.append("(v.is_intended = 0 OR (e.ending NOT IN (?, ?, ?)))")
            given += [Ending.ANSWERED, Ending.ENGINE_ERROR, Ending.BUG]
        if self.asked:
            terms.append("e.n_asks > 0")
        if self.text is not None:
            held = "instr(lower({}), lower(?)) > 0"
            turns = f"SELECT 1 FROM turns t WHERE t.episode = e.episode AND ({held.format('t.text')} OR "
            turns += f"{held.format('t.observation')})"
            terms.append(f"({held.format('i.question')} OR {held.format('coalesce(e.answer, ?)')} OR EXISTS ({turns}))")
            given += [self.text, "", self.text, self.text, self.text]
        return " AND ".join(terms) or "1", given


def find(store: Store, run: str, wanted: Wanted = Wanted(), limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Rows of the episodes of a run, in the order in which they were written.

    Raises:
        UserError: no such run; it has no such model, mode or instance, or no verdict of the grader that is named.
    """
    row = store.resolve(run)
    for name, column in (("model", "model"), ("mode", "mode"), ("instance", "instance_id")):
        if getattr(wanted, name) is not None:
            there = store.conn.execute(f"SELECT DISTINCT {column} FROM episodes WHERE run=? ORDER BY 1", (row["run"],))
            _one_of(name, getattr(wanted, name), [value for (value,) in there])
    condition, given = wanted.conditions()
    return store.db.query(
        f"SELECT {_COLUMNS} FROM episodes e JOIN instances i USING (instance_id, item) "
        "LEFT JOIN verdicts v ON v.episode = e.episode AND v.kind = 'answer' AND v.turn = -1 AND v.given_by = ? "
        f"WHERE e.run = ? AND {condition} ORDER BY e.episode LIMIT ?",
        (_grader(store, row, wanted.grader), row["run"], *given, -1 if limit is None else limit),
    )


def _grader(store: Store, run: dict[str, Any], named: str | None) -> str:
    if named is not None:
        return find_giver(store, run["run"], "answer", named)
    there = verdict_givers(store, run["run"], "answer")
    return there[0] if len(there) == 1 else RECORDED if run["kind"] == "import" else RULES


def neighbours(store: Store, run: str, episode: int, wanted: Wanted = Wanted()) -> tuple[int | None, int | None]:
    """The episodes before and after one among those that are wanted."""
    numbers: Sequence[int] = [row["episode"] for row in find(store, run, wanted)]
    before = max((number for number in numbers if number < episode), default=None)
    return before, min((number for number in numbers if number > episode), default=None)

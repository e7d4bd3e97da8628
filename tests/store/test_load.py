"""From the store to metrics: whose verdicts are taken, and what an episode without any counts as."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fiqkit.errors import UserError
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Turn
from fiqkit.store.load import load_scored
from fiqkit.store.store import Store

ASK = Turn("interact", {"question": "GAAP?"})


@pytest.fixture
def fill(tmp_path: Path, make_instance: Callable[..., Instance]) -> Callable[..., Store]:
    """Writes episodes (one an instance) into a run of a new store."""

    def write(*pairs: tuple[dict[str, Any], list[Any]], kind: str = "run") -> Store:
        store = Store(tmp_path / "s.db", create=True)
        instances = [make_instance(instance_id=f"t{i}") for i in range(len(pairs))]
        store.begin_run("r", kind, "d", instances, {})
        usual = {"model": "m", "mode": "interact", "ending": Ending.ANSWERED}
        store.write("r", [(Episode(f"t{i}", **usual | changes), given) for i, (changes, given) in enumerate(pairs)])
        return store

    return write


def graded(outcome: Outcome, by: str = "rules", flags: tuple[str, ...] = ()) -> AnswerVerdict:
    return AnswerVerdict.of(by, Grade(outcome, flags=flags))


def test_labels(fill):
    store = fill(
        ({}, [graded(Outcome.INTENDED)]),
        ({}, [graded(Outcome.DEFAULT)]),
        ({}, [graded(Outcome.UNSCORED)]),
        ({}, []),  # answered, and nobody graded it
        ({"ending": Ending.BUDGET}, []),
        ({"ending": Ending.EARLY_ANSWER}, [graded(Outcome.INTENDED)]),
        ({"ending": Ending.ENGINE_ERROR}, [graded(Outcome.INTENDED)]),
    )
    assert [(e.is_intended, e.is_default, e.counts) for e in load_scored(store, ["r"])] == [
        (True, False, True),
        (False, True, True),
        (None, None, False),
        (None, None, False),
        (False, False, True),
        (False, False, True),
        (None, None, False),
    ]


def test_facts_of_the_episode_and_its_instance(fill):
    judged = QuestionVerdict("rules", 0, Judgement(("metric_definition",), "metric_definition", "GAAP"))
    (e,) = load_scored(fill(({"turns": (ASK,), "confidence": 70.0, "flags": ("repaired",)}, [judged])), ["last"])
    assert (e.run, e.language, e.categories, e.h0, e.cluster) == ("r", "en", ("entity_scope",), 1.585, "QUIL")
    assert (e.confidence, e.n_asks, e.n_turns, e.flags, e.episode) == (70.0, 1, 1, ("repaired",), 1)
    assert e.questions == (judged.judgement,)


def test_questions_come_in_the_order_asked(fill):
    turns = (ASK, Turn("search", {"query": "x"}), ASK)
    given = [QuestionVerdict("rules", turn, Judgement((), f"q{turn}")) for turn in (2, 0)]
    (e,) = load_scored(fill(({"turns": turns}, given)), ["r"])
    assert [q.central for q in e.questions] == ["q0", "q2"]


@pytest.mark.parametrize(
    ("kind", "there", "taken"),
    [
        ("run", ("rules", "a-model"), "rules"),
        ("run", ("a-model",), "a-model"),
        ("import", ("recorded", "rules"), "recorded"),
    ],
)
def test_whose_verdicts_by_default(fill, kind, there, taken):
    store = fill(({}, [graded(Outcome.INTENDED, by=name) for name in there]), kind=kind)
    assert load_scored(store, ["r"])[0].grader == taken


def test_a_grader_that_gave_none_is_refused(fill):
    store = fill(({}, [graded(Outcome.INTENDED)]))
    with pytest.raises(UserError, match=r"no verdict of grader 'llm', only of rules; .*fiqkit grade --grader llm"):
        load_scored(store, ["r"], grader="llm")
    with pytest.raises(UserError, match="no run 'gone'"):
        load_scored(store, ["gone"])


def test_enumerate_is_graded_by_what_it_lists(fill):
    listing = {"mode": "enumerate"}
    store = fill(
        (listing, [graded(Outcome.HEDGE, flags=("covers_intended", "covers_both"))]),
        (listing, [graded(Outcome.HEDGE, flags=("covers_intended",))]),
        (listing, [graded(Outcome.INTENDED)]),
        (listing, [graded(Outcome.UNSCORED)]),
    )
    assert [(e.is_intended, e.is_default) for e in load_scored(store, ["r"])] == [
        (True, True),
        (True, False),
        (False, False),
        (None, None),
    ]

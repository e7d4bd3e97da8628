"""Questions of many kinds, labelled by hand before the rules were tried on them: what judge and user make of each.

judge_questions.tsv: kind, touched categories by their letters (E entity, T temporal, M metric, R recognition,
V vintage; "-" none), central one ("-" not ruled), question. simulator_questions.tsv: a view of simulator_views.jsonl,
the right reply, question. Companies are invented.
"""

import json
from pathlib import Path

import pytest

from fiqkit.datasets import read_instances
from fiqkit.records import Interpretation
from fiqkit.roles.interfaces import UNKNOWN, YES, UserView
from fiqkit.roles.judge.rules import classify_question
from fiqkit.roles.simulator.rules import reply_to
from fiqkit.taxonomy import CATEGORIES

HERE = Path(__file__).parent
BUNDLED = Path(__file__).parents[2] / "fiqkit/bench_data/instances.jsonl"
LETTERS = dict(zip("ETMRV", CATEGORIES, strict=True))


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (HERE / name).read_text("utf-8").splitlines()]


def views() -> dict[str, UserView]:
    read = map(json.loads, (HERE / "simulator_views.jsonl").read_text("utf-8").splitlines())
    return {
        row["view"]: UserView(
            row["question"],
            row["context"],
            Interpretation(**row["intended"]),
            Interpretation(**row["default"]),
            row["language"],
        )
        for row in read
    }


VIEWS = views()


def test_the_judge() -> None:
    wrong, asked = [], rows("judge_questions.tsv")
    for kind, touched, central, question in asked:
        said = classify_question(question)
        right = set(said.touched) == {LETTERS[letter] for letter in touched if letter != "-"}
        if not right or (central not in ("-", said.central) and LETTERS.get(central) != said.central):
            wrong.append((kind, question, said))
    assert len(wrong) <= 0.01 * len(asked), wrong


def test_what_is_touched_is_named() -> None:
    for _, _, _, question in rows("judge_questions.tsv"):
        said = classify_question(question)
        assert set(said.touched) <= set(said.named or ())
        assert said.central in (said.touched or ("generic", "none"))


def test_the_user() -> None:
    wrong = [
        (view, question, reply, said)
        for view, reply, question in rows("simulator_questions.tsv")
        if (said := reply_to(question, VIEWS[view])) != reply
    ]
    assert [item for item in wrong if item[3] != UNKNOWN] == [], "a false yes or no"
    assert len(wrong) <= 0.03 * len(rows("simulator_questions.tsv")), wrong  # withheld where a reply was due


FRAMES = {
    "en": ["{}", "{}?", "Do you mean: {}?", "Do you want the following: {}?", "Just to confirm: {} Is that right?"],
    "zh": ["{}", "{}？", "您指的是{}吗？", "您要的是：{}，对吗？", "您的意思是{}？"],
}


def assert_own_words_are_yes(path: Path) -> None:
    for instance in read_instances(path):
        view = UserView.of(instance)
        for frame in FRAMES[instance.language]:
            assert reply_to(frame.format(view.context.rstrip(".。")), view) == YES, (frame, view)


def test_the_users_own_words_are_always_yes() -> None:
    assert_own_words_are_yes(BUNDLED)


@pytest.mark.conformance
def test_the_users_own_words_are_always_yes_in_the_release(shared_data: Path) -> None:
    assert_own_words_are_yes(shared_data / "fininteract/fininteract_v1.jsonl")


def test_the_words_of_the_other_reading_are_never_yes() -> None:
    for view in VIEWS.values():
        ask = "Do you mean: {}?" if view.language == "en" else "您指的是{}吗？"
        for field in view.intended.differs_from(view.default):
            if words := getattr(view.default, field):
                assert reply_to(ask.format(words), view) != YES, view

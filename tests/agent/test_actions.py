"""Reading one action out of a reply."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.agent.actions import (
    ACTIONS,
    Action,
    ParseFault,
    parse,
    parse_confidence,
    schema,
)
from fiqkit.models.reasoning import split

ANSWER = '{"action": "answer", "response": "$46.75B", "confidence": 80}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ANSWER, Action("answer", {"response": "$46.75B", "confidence": 80.0})),
        (f"```json\n{ANSWER}\n```", Action("answer", {"response": "$46.75B", "confidence": 80.0})),
        (f"Here is my answer.\n{ANSWER}\nThat is all.", Action("answer", {"response": "$46.75B", "confidence": 80.0})),
        ('{"action": "search", "query": "a {nested} brace"}', Action("search", {"query": "a {nested} brace"})),
        ('{"action": "search", "query": "q", "why": {"a": {"b": 1}}}', Action("search", {"query": "q"})),
        (
            '{"action": "interact", "question": "您指合并口径吗？"}',
            Action("interact", {"question": "您指合并口径吗？"}),
        ),
        # a quoted action stands within a line of prose; the one that begins a line is meant
        (
            'I could say {"action": "answer", "response": "1"} but first:\n{"action": "search", "query": "q"}',
            Action("search", {"query": "q"}),
        ),
        ('{"action": "answer", "response": 46.75}', Action("answer", {"response": "46.75", "confidence": None})),
        (
            '{"action": "answer", "response": "x", "confidence": "85%"}',
            Action("answer", {"response": "x", "confidence": 85.0}),
        ),
        (
            '{"action": "answer", "response": "x", "confidence": 850}',
            Action("answer", {"response": "x", "confidence": None}),
        ),
        (
            '{"action": "answer", "response": "x", "confidence": true}',
            Action("answer", {"response": "x", "confidence": None}),
        ),
        # half of a character, as a JSON escape can spell it, fits in no file and no request
        ('{"action": "search", "query": "a\\ud83d"}', Action("search", {"query": "a\ufffd"})),
        ('{"action": "search", "query": "a\\ud83d\\ude00"}', Action("search", {"query": "a\U0001f600"})),
    ],
)
def test_reads_the_action_that_is_meant(text: str, expected: Action) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON action"),
        ("The answer is $46.75B.", "no JSON action"),
        ('You may reply with {"action": "answer", "response": "1"} here.', "no JSON action"),
        ('> {"action": "answer", "response": "quoted"}', "no JSON action"),
        ('{"action": "search", "query": "a"}\n{"action": "answer", "response": "b"}', "2 actions"),
        ('{"action": "buy", "response": "b"}', "'buy' is unknown"),
        ('{"response": "b"}', "'None' is unknown"),
        ('{"action": "search", "query": "  "}', '"query"'),
        ('{"action": "search", "question": "x"}', '"query"'),
        ('{"action": ["search"], "query": "x"}', "unknown"),
        ('{"action": "answer", "response": ["a"]}', '"response"'),
        ('[{"action": "search", "query": "q"}]', "no JSON action"),
        ('{"action": "answer", "response": "cut', "no JSON action"),
        ("{" * 100_000, "no JSON action"),
        ('{"action": "state", "state": "known"}', "an object"),
        ('{"action": "state", "state": {}}', "an object"),
    ],
)
def test_says_why_there_is_no_action(text: str, fault: str) -> None:
    with pytest.raises(ParseFault, match=fault):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ("", "plain", False)),
        (f"<think>maybe {ANSWER}</think>rest", (f"maybe {ANSWER}", "rest", False)),
        (f"the template opened it {ANSWER}</think>rest", (f"the template opened it {ANSWER}", "rest", False)),
        (f"<think>never closed {ANSWER}", (f"never closed {ANSWER}", "", True)),
        (f"<think>a</think><think>b {ANSWER}", (f"a\nb {ANSWER}", "", True)),
        ("<THINK>a</THINK> x", ("a", " x", False)),
        ("<think>a</think>b<think>c</think>d", ("abc", "d", False)),
        ("revenue < cost", ("", "revenue < cost", False)),
    ],
)
def test_reasoning_is_split_off_before_anything_is_executed(text: str, expected: tuple[str, str, bool]) -> None:
    assert split(text) == expected


FIELD = {"search": "query", "interact": "question", "answer": "response"}


@given(st.text(), st.sampled_from(sorted(FIELD)), st.text(min_size=1).filter(str.strip))
def test_an_action_survives_any_reasoning_before_it(thought: str, name: str, value: str) -> None:
    field = FIELD[name]
    reply = json.dumps({"action": name, field: value}, ensure_ascii=False)
    _, rest, cut = split(f"<think>{thought}</think>\n{reply}")
    if "<" not in value:  # a value that itself opens or closes a think block is the model's own undoing
        assert not cut
        assert parse(rest).content[field] == value


@given(st.text(alphabet='{}[]",:\\ \nactionswerquy<>/think0', max_size=300))
def test_no_text_breaks_the_parser(text: str) -> None:
    _, rest, _ = split(text)
    with contextlib.suppress(ParseFault):
        assert parse(rest).name in ACTIONS


def test_the_schema_admits_what_the_parser_reads_and_bounds_every_string() -> None:
    import jsonschema_rs

    validator = jsonschema_rs.validator_for(dict(schema(("search", "answer"))))
    assert validator.is_valid({"action": "search", "query": "q"})
    assert validator.is_valid({"action": "answer", "response": "$1", "confidence": 100})
    for bad in (
        {"action": "interact", "question": "q"},
        {"action": "search", "query": "q" * 161},
        {"action": "answer", "response": "$1", "confidence": 101},
        {"action": "answer"},
    ):
        assert not validator.is_valid(bad)


def test_a_state_is_texts_and_what_is_empty_is_unknown() -> None:
    said = parse('{"action": "state", "state": {"entity": "group", "period": null, "metric": " ", "basis": 2023}}')
    assert said.content == {"state": {"entity": "group", "period": "unknown", "metric": "unknown", "basis": "2023"}}


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ('{"action": "confidence", "confidence": 80}', 80.0),
        ('{"confidence": "55%"}', 55.0),
        ("90", 90.0),
        (" 12.5 % ", 12.5),
        ("about ninety", None),
        ("900", None),
        ('{"action": "answer", "response": "$1"}', None),
        ("", None),
    ],
)
def test_a_confidence_is_read_from_an_action_or_a_bare_number(text: str, stated: float | None) -> None:
    assert parse_confidence(text) == stated

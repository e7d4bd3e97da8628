"""GBNF recognition, held against Python's own regular expressions where a grammar is one."""

import re

import pytest
from gbnf import matches
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.errors import UserError

JSON = r"""
root   ::= object
object ::= "{" ws (pair ("," ws pair)*)? "}" ws   # no trailing comma
pair   ::= string ":" ws value
value  ::= object | string | number | "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\/bfnrt])* "\"" ws
number ::= "-"? [0-9]+ ("." [0-9]+)? ws
ws     ::= [ \t\n]*
"""


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('{"a": {"b": [1, -2.5, "x\\n"]}}', True),
        ("{}", True),
        ('{"a": 1,}', False),
        ('{"a": 1} trailing', False),
        ('{"a": 1', False),
        ('{"a": "\n"}', False),
        ("", False),
    ],
)
def test_recursive_json(text: str, inside: bool) -> None:
    assert matches(JSON, text) is inside


@pytest.mark.parametrize(
    ("grammar", "yes", "no"),
    [
        ('root ::= "yes" | "no"', ["yes", "no"], ["yes ", "", "nope"]),
        ('root ::= "a"{2,3}', ["aa", "aaa"], ["a", "aaaa"]),
        ('root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
        ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
        ("root ::= [^\\n]{0,4}", ["", "数据四个"], ["five!", "a\n"]),
        ('root ::= "\\u6570" .', ["数\n", "数x"], ["数", "xx"]),
        ('root ::= ("a" "b"?)* "b"', ["b", "ab", "abb", "aab"], ["", "a", "ba"]),
        ('root ::= x\nx ::= "(" x ")" | "."', [".", "((.))"], ["((.)", "()"]),
        ('root ::= "" | ("" | "a")+', ["", "aaa"], ["b"]),
    ],
)
def test_grammars(grammar: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in yes if not matches(grammar, text)] == []
    assert [text for text in no if matches(grammar, text)] == []


PATTERNS = st.from_regex(r"(\((a|b|ab){1,2}\)[ab]?|\(a{2,4}\)|b\*|[ab]+\?){1,3}", fullmatch=True)


@given(PATTERNS, st.text("ab", max_size=9))
def test_agrees_with_regular_expressions(pattern: str, text: str) -> None:
    grammar = "root ::= " + re.sub(r"[ab]+", lambda run: " ".join(f'"{c}"' for c in run.group()), pattern)
    assert matches(grammar, text) is bool(re.fullmatch(pattern, text))


@pytest.mark.parametrize(
    ("grammar", "line"),
    [
        ('root ::= "a" x', "no rule 'x'"),
        ('other ::= "a"', "no rule 'root'"),
        ('root ::= root "a" | "a"', "left recursion"),
        ('root ::= ("a"', "not closed"),
        ('root ::= "a" }', "cannot read"),
        ('"a"', "must begin with NAME"),
        ("root ::= * ", "out of place"),
    ],
)
def test_what_is_no_grammar(grammar: str, line: str) -> None:
    with pytest.raises(UserError, match=line) as caught:
        matches(grammar, "a")
    assert "\n" not in str(caught.value)

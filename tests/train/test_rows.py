"""A row holds the tokens that were there, and its mask says which the model wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.models.template import ChatTemplate
from fiqkit.records import Ending, Episode, Turn
from fiqkit.train.recipe import FOLDER
from fiqkit.train.rows import Row, check_lengths, join, of_chat, of_episode

TEMPLATES = FOLDER.parent / "templates"
IDS = st.lists(st.integers(0, 50), min_size=1, max_size=8)
END = 3
CHAT = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Q"},
    {"role": "assistant", "content": '{"action": "search"}'},
    {"role": "user", "content": "found"},
    {"role": "assistant", "content": '{"action": "answer"}'},
]


def encode(text: str) -> list[int]:
    """One token a character, and one for the marks that a template writes."""
    return [END if char == "\0" else ord(char) + 10 for char in text.replace("<|im_end|>", "\0")]


def template(source: str) -> ChatTemplate:
    return ChatTemplate("t", source, {})


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5))
def test_a_dialogue_that_only_grows_is_one_row(turns: list[tuple[list[int], list[int]]]) -> None:
    said: list[int] = []
    grown = []
    for added, reply in turns:
        grown.append((said + added, reply))
        said = said + added + reply
    rows = join(grown)
    assert len(rows) == 1
    assert list(rows[0].ids) == said
    written = [token for token, own in zip(rows[0].ids, rows[0].mask, strict=True) if own]
    assert written == [token for _, reply in turns for token in reply]


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5))
def test_whatever_the_prompts_every_written_token_is_learned_once_after_its_own_prompt(
    turns: list[tuple[list[int], list[int]]],
) -> None:
    rows = join(turns)
    assert sum(sum(row.mask) for row in rows) == sum(len(reply) for _, reply in turns)
    held = [tuple(row.ids) for row in rows]
    for prompt, reply in turns:
        assert any(ids[: len(prompt) + len(reply)] == (*prompt, *reply) for ids in held)


@pytest.mark.parametrize(("ids", "mask"), [((1, 2), (0, 0)), ((1, 2), (1,)), ((), ())])
def test_a_mask_that_is_short_or_all_zero_is_refused(ids: tuple[int, ...], mask: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"wrote nothing|a mask of"):
        Row(ids, mask)


def test_labels_are_the_models_tokens_alone() -> None:
    row = Row((5, 6, 7, 8), (0, 1, 0, 1))
    assert row.labels == [-100, 6, -100, 8]
    assert row.prompt_length == 1


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.jinja")), ids=lambda path: path.stem)
def test_the_bundled_templates_keep_what_was_said_before_a_users_turn(path: Path) -> None:
    rows = of_chat(CHAT, template(path.read_text("utf-8")), encode, END)
    assert len(rows) == 1
    text = "".join("<|im_end|>" if token == END else chr(token - 10) for token in rows[0].ids)
    thought = "<think>\n\n</think>\n\n" if "no-think" in path.stem else ""
    assert text == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
        f'<|im_start|>assistant\n{thought}{{"action": "search"}}<|im_end|>\n'
        f'<|im_start|>user\nfound<|im_end|>\n<|im_start|>assistant\n{thought}{{"action": "answer"}}<|im_end|>'
    )


def test_a_template_that_drops_a_think_block_begins_a_new_row() -> None:
    dropping = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}"
    )
    rows = of_chat(CHAT, template(dropping), encode, END)
    assert len(rows) == 2
    assert [sum(row.mask) for row in rows] == [len(CHAT[2]["content"]) + 1, len(CHAT[4]["content"]) + 1]


def test_recorded_ids_are_taken_as_they_are() -> None:
    first = Turn("search", {}, output_tokens=2, prompt_ids=(1, 2), output_ids=(3, 4))
    second = Turn("answer", {}, output_tokens=1, prompt_ids=(1, 2, 3, 4, 9), output_ids=(5,))
    rows = of_episode(Episode("i", "m", "interact", Ending.ANSWERED, turns=(first, second)))
    assert rows == [Row((1, 2, 3, 4, 9, 5), (0, 0, 1, 1, 0, 1))]


def test_an_episode_without_ids_is_refused() -> None:
    turn = Turn("answer", {}, output_tokens=2)
    with pytest.raises(UserError, match="recorded no token ids"):
        of_episode(Episode("i", "m", "answer", Ending.ANSWERED, turns=(turn,)))


def test_a_row_that_would_be_cut_is_refused() -> None:
    with pytest.raises(UserError, match="row of 4 tokens, and the recipe's max_length is 3"):
        check_lengths([Row((1, 2, 3, 4), (0, 1, 0, 1))], 3)

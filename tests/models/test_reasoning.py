"""Marks of thinking, and the templates that open, close or switch it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.models.messages import NOTHING, sendable, wants_folding
from fiqkit.models.reasoning import begins, begins_inside, closes, is_closed, is_mark, opener, reply_part, split
from fiqkit.models.template import ChatTemplate

REPLY = '{"action": "answer", "response": "x"}'
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>"
# family → (opening mark, closing mark)
FAMILIES = {
    "think": ("<think>\n", "\n</think>\n\n"),
    "thinking": ("<thinking>", "</thinking>"),
    "thought": ("<thought>", "</thought>"),
    "magistral": ("[THINK]", "[/THINK]"),
    "seed": ("<seed:think>", "</seed:think>"),
    "minimax": ("<mm:think>", "</mm:think>"),
    "hunyuan": ("<think:opensource>", "</think:opensource>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "gemma": ("<|channel>thought\n", "<channel|>"),
    "command": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "openthinker": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "solar": ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    "kimi": ("◁think▷", "◁/think▷"),
    "kimi 3": ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>"),
    "harmony": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
}


@pytest.mark.parametrize(("first", "last"), FAMILIES.values(), ids=FAMILIES)
def test_each_family(first: str, last: str) -> None:
    draft = f"hm {REPLY} no"
    thought, reply, cut = split(f"{first}{draft}{last}{REPLY}")
    assert (thought.startswith(draft), reply.strip(), cut) == (True, REPLY, False)
    assert split(f"{first}{draft}")[1:] == ("", True)
    assert split(f"{draft}{last}{REPLY}")[1].strip() == REPLY, "the template had opened it"
    assert opener(f"…assistant\n{first}") == first
    assert begins(first) or first.startswith("<|channel|>")
    written = f"{draft}{last}".encode()
    assert closes(written, len(written) - 2) and not closes(draft.encode(), 0)


@given(st.text(alphabet=st.characters(exclude_characters="<>[]◁▷|")), st.sampled_from(sorted(FAMILIES)))
def test_whatever_is_thought_the_reply_is_left(thought: str, family: str) -> None:
    first, last = FAMILIES[family]
    assert reply_part(f"{first}{thought}{last}{REPLY}") == REPLY
    assert split(thought) == ("", thought, False) or thought.startswith("analysis")


def test_only_a_template_that_opened_the_block_makes_a_reply_begin_inside() -> None:
    assert begins_inside(f"hm</think>{REPLY}")
    assert not begins_inside(f"<think>hm</think>{REPLY}")
    assert not begins_inside(f"<|channel|>final<|message|>{REPLY}")
    assert not begins_inside(REPLY)


def test_wrappers_fences_and_ending_tokens_are_no_part_of_a_reply() -> None:
    for text in (
        f"<think>a</think><response>{REPLY}</response>",
        f"```json\n{REPLY}\n```",
        f"```\n{REPLY}```",
        f"{REPLY}<|im_end|>",
        f"{REPLY}</s>",
        f"<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>{REPLY}<|END_RESPONSE|>",
        f"{HARMONY.format('a')}{REPLY}<|return|>",
    ):
        assert reply_part(text) == REPLY


def test_marks_stay_in_the_text_though_they_are_special_tokens() -> None:
    kept = ("<think>", "[THINK]", "[/THINK]", "<|channel|>", "<|message|>", "<|START_THINKING|>", "<channel|>")
    assert all(map(is_mark, kept))
    assert not any(map(is_mark, ("<|im_end|>", "<s>", "</s>", "<|eot_id|>", "<pad>", "think")))


# --- templates ---

PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + PLAIN
LOSES_SYSTEM = PLAIN.replace("{% for m in messages %}", "{% for m in messages if m.role != 'system' %}")
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}]
SWITCHES = {
    "enable_thinking": "{% if enable_thinking is false %}<think></think>{% endif %}",
    "thinking": "{% if thinking %}<think>{% else %}</think>{% endif %}",
    "thinking_budget": "{% if thinking_budget == 0 %}<seed:think></seed:think>{% endif %}",
    "thinking_mode": "{% if thinking_mode == 'disabled' %}</mm:think>{% endif %}",
    "reasoning_effort": "{% if reasoning_effort == 'no_think' %}<think></think>{% endif %}",
}


@pytest.mark.parametrize("source", [NO_SYSTEM, LOSES_SYSTEM])
def test_a_system_text_is_never_lost(source: str) -> None:
    template = ChatTemplate("m", source, {})
    assert template.folds
    assert template.render(CHAT) == "<user>Be brief.\n\nQ\n<assistant>"
    assert template.describe()["system_role"] is False
    assert not ChatTemplate("m", PLAIN, {}).folds


def test_no_assistant_message_is_empty() -> None:
    chat = [*CHAT, {"role": "assistant", "content": " "}, {"role": "user", "content": "again"}]
    assert [m["content"] for m in sendable(chat)] == ["Be brief.", "Q", NOTHING, "again"]
    assert sendable(CHAT) == CHAT
    assert wants_folding("System role not supported", CHAT) and not wants_folding("System role not supported", CHAT[1:])
    assert wants_folding("Conversation roles must alternate user/assistant", CHAT)
    assert not wants_folding("the temperature is not supported", CHAT)


@pytest.mark.parametrize(("variable", "part"), SWITCHES.items())
def test_the_switch_of_a_template_is_found_by_trying(variable: str, part: str) -> None:
    template = ChatTemplate("m", PLAIN + part, {})
    assert template.switch is not None and set(template.switch[0]) == {variable}
    on, off = template.render(CHAT, True), template.render(CHAT, False)
    assert on != off and is_closed(off)


def test_a_template_without_a_switch_has_none_but_ones_own() -> None:
    effort = PLAIN + "<effort {{ reasoning_effort }}>"
    assert ChatTemplate("m", PLAIN + "<think>\n", {}).switch is None
    assert ChatTemplate("m", effort, {}).switch is None, "another effort is not thinking turned off"
    own: dict[str, Any] = {"on": {"reasoning_effort": "high"}, "off": {"reasoning_effort": "low"}}
    assert ChatTemplate("m", effort, {}, own).render(CHAT, False).endswith("<effort low>")


def of_llama_cpp() -> list[Path]:
    """The chat templates in the source distribution of llama-cpp-python, where FIQKIT_TEMPLATES names their folder."""
    return sorted(Path(os.environ.get("FIQKIT_TEMPLATES", "/nowhere")).glob("*.jinja"))


@pytest.mark.skipif(not of_llama_cpp(), reason="set FIQKIT_TEMPLATES to vendor/llama.cpp/models/templates")
def test_templates_of_llama_cpp() -> None:
    tools_only = set()
    for path in of_llama_cpp():
        template = ChatTemplate(path.stem, path.read_text("utf-8"), {"bos_token": "<BOS>", "eos_token": "<EOS>"})
        chat = [*CHAT, {"role": "assistant", "content": ""}, {"role": "user", "content": "Observation."}]
        try:
            text = template.render(chat)
        except UserError:
            tools_only.add(path.stem)
            continue
        assert "Be brief." in text and "Observation." in text and not text.startswith("<BOS><BOS>"), path.stem
        if template.switch:
            on, off = template.render(chat, True), template.render(chat, False)
            assert on != off and not opener(off), path.stem
    assert tools_only <= {"fireworks-ai-llama-3-firefunction-v2"}

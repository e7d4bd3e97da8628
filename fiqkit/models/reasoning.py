"""The marks between which models think, whatever family they are of, and the reply without what stands between them.

    split("<think>\\nThe segment?\\n</think>\\n{\\"action\\": …}")   # ("The segment?", "\\n{\\"action\\": …}", False)

A draft inside the marks is never a reply: nothing in it may be executed or graded. A chat template may write the
opening mark itself, so that a reply begins inside; engines put that mark in front of the text again (`opener`), and
whoever reads a completion needs to know nothing else.
"""

from __future__ import annotations

import re
from dataclasses import replace

from fiqkit.models.engine import Completion

# Qwen, DeepSeek, GLM, MiniMax, Granite, EXAONE, Seed-OSS, LongCat, Hunyuan: a tag, some with a prefix or suffix.
_TAG = r"(?:[a-z]+[:_])?(?:think|thinking|thought|reasoning)(?::\w+)?"
_OPENING = (
    rf"<{_TAG}>",
    r"\[THINK\]",  # Magistral, Ministral
    r"<\|channel\|>(?:analysis|commentary)[^<]*<\|message\|>",  # harmony (gpt-oss)
    r"<\|channel>thought\n?",  # Gemma 4
    r"<\|START_THINKING\|>",  # Command A, R7B
    r"<\|inner_prefix\|>",  # Apertus
    r"<\|begin_of_thought\|>",  # OpenThinker
    r"<\|think\|>",  # Solar
    r"◁think▷|<\|open\|>think<\|sep\|>",  # Kimi
)
_CLOSING = (
    rf"</{_TAG}>",
    r"\[/THINK\]",
    r"<\|channel\|>final[^<]*<\|message\|>",
    r"<channel\|>",
    r"<\|END_THINKING\|>",
    r"<\|inner_suffix\|>",
    r"<\|end_of_thought\|>",
    r"<\|content\|>",
    r"◁/think▷|<\|close\|>think<\|sep\|>(?:<\|open\|>response<\|sep\|>)?",
)
_OPEN = re.compile("|".join(_OPENING), re.IGNORECASE)
_CLOSE = re.compile("|".join(_CLOSING), re.IGNORECASE)
_CLOSE_BYTES = re.compile("|".join(_CLOSING).encode(), re.IGNORECASE)
_LONGEST_MARK = 48  # bytes
_OPEN_AT_END = re.compile(rf"(?:{'|'.join(_OPENING)})\s*$", re.IGNORECASE)
_CLOSED_AT_END = re.compile(rf"(?:{'|'.join(_CLOSING)})\s*$", re.IGNORECASE)
# Where a server has dropped harmony's special tokens, the channels' names are left, glued to the text.
_BARE_HARMONY = re.compile(r"analysis(.+?)assistantfinal(?=[\s{\[\"])", re.DOTALL)
# What may stand around a reply: a wrapper of its own (Granite, Command, Hunyuan), the token that ended it.
_WRAPPER = re.compile(r"^\s*(?:<response>|<answer>|<\|START_(?:RESPONSE|TEXT)\|>)\s*")
_END = re.compile(
    r"(?:\s*(?:</response>|</answer>|</s>|<eos>|<end_of_turn>|<turn\|>|<｜end▁of▁sentence｜>|"
    r"<\|(?:END_RESPONSE|END_TEXT|END_OF_TURN_TOKEN|im_end|eot_id|eom_id|end|return|endoftext|end_of_text|eot)\|>))+\s*$"
)
# Tokens that a decoder would leave out of a text as special, and that mark where thinking begins and ends.
_MARK_TOKEN = re.compile(
    rf"</?{_TAG}>|\[/?THINK\]|<\|(?:channel|message|start|begin|content|think)\|>|<\|channel>|<channel\|>|"
    r"<\|(?:START|END)_(?:THINKING|RESPONSE|TEXT)\|>|<\|inner_(?:prefix|suffix)\|>|<\|(?:begin|end)_of_thought\|>|"
    r"<\|(?:end|open|close|sep)\|>|◁/?think▷",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def split(text: str) -> tuple[str, str, bool]:
    """A completion's text as (reasoning, reply, cut).

    Everything up to the last closing mark is reasoning. `cut` says that a block was opened and never closed: then there
    is no reply. Without any mark the reply is the text as it stands.
    """
    if bare := _BARE_HARMONY.match(text):
        return bare.group(1).strip(), _END.sub("", text[bare.end() :]), False
    if not any(sign in text for sign in "<[◁"):
        return "", text, False
    closes = list(_CLOSE.finditer(text))
    end = closes[-1].end() if closes else 0
    reopened = _OPEN.search(text, end)
    thought = _OPEN.sub("", _CLOSE.sub("", text[:end])).strip()
    if reopened:
        return f"{thought}\n{text[reopened.end() :]}".strip(), "", True
    reply = _END.sub("", text[end:])
    return thought, _WRAPPER.sub("", reply) if end or reply != text[end:] else reply, False


def reply_part(text: str) -> str:
    """The reply alone: without reasoning, without a code fence around it, stripped."""
    reply = split(text)[1].strip()
    fenced = _FENCE.match(reply)
    return fenced.group(1).strip() if fenced else reply


def opener(prompt: str) -> str:
    """The mark with which a rendered prompt leaves a think block open, white space after it included; "" if none."""
    found = _OPEN_AT_END.search(prompt[-200:])
    return found.group() if found else ""


def read_on(completion: Completion, opened: str) -> Completion:
    """The completion with the mark that the template wrote in front of its text; "length" where it ends inside."""
    text = opened + completion.text if opened else completion.text
    return replace(completion, text=text, finish="length" if split(text)[2] else completion.finish)


def begins_inside(text: str) -> bool:
    """Whether a completion closes a think block that it did not open: the chat template opened it."""
    close = _CLOSE.search(text) if any(sign in text for sign in "<[◁") else None
    if close is None or close.group().startswith(("<|channel|>", "<|content|>")):
        return False
    return not _OPEN.search(text, 0, close.start())


def is_closed(prompt: str) -> bool:
    """Whether a rendered prompt ends with a think block that the template itself has closed."""
    return bool(_CLOSED_AT_END.search(prompt[-200:]))


def begins(text: str) -> bool:
    """Whether the beginning of a reply, a token or more, is that of a think block."""
    start = text.strip()
    return bool(start) and bool(_OPEN.match(start) or re.match(r"<\|(?:channel|open)\|?>", start))


def can_open(template: str) -> bool:
    """Whether a chat template knows of thinking at all."""
    return bool(_OPEN.search(template) or _CLOSE.search(template) or re.search(r"<\|channel\|?>", template))


def closes(text: bytes | bytearray, before: int) -> bool:
    """Whether the bytes from `before` on completed a closing mark."""
    return _CLOSE_BYTES.search(text, max(0, before - _LONGEST_MARK)) is not None


def is_mark(token: str) -> bool:
    """Whether a special token must be kept in the text, because it marks where thinking begins or ends."""
    return _MARK_TOKEN.fullmatch(token) is not None

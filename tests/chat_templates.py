"""Chat templates of twelve families' shapes, short: how turns are marked, what is done with a system message, whether a
think block of an earlier turn stays."""

from __future__ import annotations

from pathlib import Path

import fiqkit.train.recipe

_SHIPPED = {
    path.stem: path.read_text("utf-8")
    for path in sorted((Path(fiqkit.train.recipe.__file__).parent / "templates").glob("*.jinja"))
}
_TURN = "{{% for m in messages %}}{turn}{{% endfor %}}{{% if add_generation_prompt %}}{begin}{{% endif %}}"


def _turns(turn: str, begin: str) -> str:
    return _TURN.format(turn=turn, begin=begin)


TEMPLATES = {
    **_SHIPPED,  # chatml, chatml-no-think
    "smollm": "{% if messages[0].role != 'system' %}<|im_start|>system\nBe helpful.<|im_end|>\n{% endif %}"
    + _turns("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n", "<|im_start|>assistant\n"),
    "headers": "{{ bos_token }}"
    + _turns("<|start|>{{ m.role }}<|end|>\n\n{{ m.content | trim }}<|eot|>", "<|start|>assistant<|end|>\n\n"),
    "brackets": "{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.system = m.content + '\n\n' %}{% elif m.role == 'user' %}"
    "[INST] {{ ns.system if loop.last else '' }}{{ m.content }}[/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}",
    "no-system": "{{ bos_token }}"
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + _turns(
        "<turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}</turn>\n", "<turn>model\n"
    ),
    "bars": _turns("<|{{ m.role }}|>\n{{ m.content }}<|end|>\n", "<|assistant|>\n"),
    "plain-words": "{% for m in messages %}{% if m.role == 'user' %}User: {{ m.content }}\n\n"
    "{% elif m.role == 'assistant' %}Assistant: {{ m.content }}{{ eos_token }}"
    "{% else %}{{ m.content }}\n\n{% endif %}{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}",
    "eos-after-each": _turns("<|{{ m.role }}|>\n{{ m.content }}{{ eos_token }}\n", "<|assistant|>\n"),
    # Reasoning models: an empty think block opens the reply, and is dropped from earlier turns.
    "drops-thought": "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and loop.index0 > ns.last %}<think>\n\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}",
    "channels": "{% for m in messages %}{% if m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>"
    "{{ m.content }}<|end|>{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant<|channel|>final<|message|>{% endif %}",
    "dated": "{{ bos_token }}<|system|>Today is {{ strftime_now('%Y-%m-%d') }}.\n"
    + _turns("<|{{ m.role }}|>{{ m.content }}{{ eos_token }}", "<|assistant|>"),
}

"""Chat templates rendered as the reference does it, and thread counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.weights import locate
from fiqkit.models.local import threads
from fiqkit.models.template import ChatTemplate, check_thinking

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}
CHATS = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": " 净利润？ <|im_end|> 'x' \"y\" & <b>"}],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": '<think>\nhm\n</think>\n\n{"action": "search"}'},
        {"role": "user", "content": "b"},
    ],
]
TEMPLATES = {
    "smollm": str(read_header(locate(find_card("smollm2-135m")))["tokenizer.chat_template"]),
    # Block tags on lines of their own, a namespace, loop controls, JSON, and the thinking switch of hybrid models.
    "hybrid": """{{ bos_token }}{% set ns = namespace(last=-1) %}
{% for m in messages %}
    {% if m.role == 'user' %}
        {% set ns.last = loop.index0 %}
    {% endif %}
{% endfor %}
{% for m in messages %}
    {% if m.role == 'system' %}{{ m | tojson }}{% continue %}{% endif %}
{% if m.role == 'assistant' and loop.index0 < ns.last %}
<|a|>{% generation %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% endgeneration %}{{ eos_token }}
{% else %}
<|{{ m['role'] }}|>{{ m.content }}
{%- endif %}
{% endfor %}
{% if add_generation_prompt %}<|a|>
{%- if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}""",
}


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("thinking", [None, True, False])
def test_renders_like_the_reference(source: str, chat: list[dict[str, str]], thinking: bool | None) -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    reference = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **SPECIALS)
    switch = {} if thinking is None else {"enable_thinking": thinking}
    expected = reference.apply_chat_template(
        chat, chat_template=source, tokenize=False, add_generation_prompt=True, **switch
    )
    assert ChatTemplate("m", source, SPECIALS).render(chat, thinking) == expected


def test_refusals_are_one_line() -> None:
    for source in (None, ""):
        with pytest.raises(UserError, match="m: the model has no chat template"):
            ChatTemplate("m", source, {})
    with pytest.raises(UserError, match="m: its chat template does not compile"):
        ChatTemplate("m", "{% for %}", {})
    picky = ChatTemplate("m", "{{ raise_exception('System role not supported') }}", {})
    with pytest.raises(UserError, match="m: its chat template refuses the messages: System role not supported"):
        picky.render(CHATS[1])
    with pytest.raises(UserError, match="refuses the messages"):
        ChatTemplate("m", "{{ ''.__class__.__mro__[1].__subclasses__() }}", {}).render(CHATS[0])


def test_only_thinking_modes_that_there_are() -> None:
    plain = Card(name="plain", engine="vllm", weights="w")
    always = Card(name="always", engine="vllm", weights="w", thinking=("on",))
    hybrid = Card(name="hybrid", engine="vllm", weights="w", thinking=("on", "off"))
    for card, modes in ((plain, (None, False)), (always, (None, True)), (hybrid, (None,))):
        for mode in (None, True, False):
            if mode in modes:
                check_thinking(card, mode, switchable=False)
            else:
                refused = "on and off give" if card is hybrid else f"{'on' if mode else 'off'} was asked"
                with pytest.raises(UserError, match=f"{card.name}: thinking {refused}"):
                    check_thinking(card, mode, switchable=False)
            check_thinking(card, mode, switchable=True)


@pytest.mark.parametrize(
    ("busy", "cores", "expected"), [(0.1, 8, 8), (3.9, 8, 4), (5.0, 8, 3), (20.0, 8, 1), (1.4, 2, 1), (0.4, 2, 2)]
)
def test_a_busy_machine_gets_fewer_threads(
    monkeypatch: pytest.MonkeyPatch, busy: float, cores: int, expected: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "physical_cores", lambda: cores)
    monkeypatch.setattr(threads, "_threads_per_core", lambda: 1)
    monkeypatch.setattr(threads, "_busy", lambda: busy)
    assert threads.choose_threads() == expected
    assert threads.choose_threads(6) == 6
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads.choose_threads() == 2


def test_busy_counts_what_runs_now_on_the_cores_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = tmp_path / "stat"
    monkeypatch.setattr(threads, "_CPU_TIMES", times)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 2}, raising=False)
    # user nice system idle iowait …: cpu0 works half of the time, cpu1 is another's, cpu2 waits for the disk
    times.write_text(
        "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{n} 0 0 0 0 0 0 0 0 0 0\n" for n in range(3)) + "intr 5\n"
    )
    later = "cpu0 5 0 0 5 0 0 0 0 0 0\ncpu1 10 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 2 8 0 0 0 0 0\n"
    monkeypatch.setattr("time.sleep", lambda _: times.write_text(later))
    assert threads._busy() == 0.5


def test_cores_respect_the_quota_of_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(threads, "_CGROUP_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(threads, "_SIBLINGS", tmp_path / "siblings")
    assert threads.physical_cores() == 16
    (tmp_path / "siblings").write_text("0,16\n")
    assert threads.physical_cores() == 8
    (tmp_path / "cpu.max").write_text("350000 100000\n")
    assert threads.physical_cores() == 3
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads.physical_cores() == 8

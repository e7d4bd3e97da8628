"""What a server says of a prompt that is too long, in English and Chinese, and what sounds like it and is not."""

from __future__ import annotations

import pytest

from fiqkit.models.served.overflow import error_fault


@pytest.mark.parametrize(
    "said",
    [
        "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
        "the max input characters is 20000",
        "the length of message exceeds the max limit",
        "Input tokens (9000) + max_new_tokens (100) > model context 8192",
        "cache is full: prompt requires 9000 tokens but 8192 available",
        "requested 9012 tokens, model supports 8192",
        "Prompt has 9000 tokens, but the limit is 8192",
        "输入内容过长",
        "輸入過長",
        "输入长度超过模型最大上下文长度限制",
        "Prompt 超长",
        "token数量超过上限，需要精简输入",
        "请求的上下文长度超出模型支持的最大长度",
        "messages长度超出限制，请减少对话轮数",
        "上下文窗口超出限制",
    ],
)
def test_a_prompt_that_is_too_long(said: str) -> None:
    assert error_fault("u", {"error": {"message": said}}, 400).kind == "overflow"


@pytest.mark.parametrize("status", [400, 429, 500])
@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
        "max_tokens参数超过模型上限4096",
        "输出长度超过限制",
        "生成的tokens超过上限",
        "图片大小超过限制",
        "文件长度超出限制",
        "请求频率超过限制，请稍后再试",
        "当前分钟内token使用量超过上限",
        "并发数超过限制",
        "今日额度已超过上限",
        "温度参数超出范围",
        "用户输入包含敏感内容",
        "Prompt tokens quota exceeded for today",
        "The server is overloaded: queue length exceeds 100",
        "prompt was blocked by the content filter",
        "logprobs must be less than 20",
    ],
)
def test_what_is_no_matter_of_the_prompts_length(said: str, status: int) -> None:
    assert error_fault("u", {"error": {"message": said}}, status).kind != "overflow"

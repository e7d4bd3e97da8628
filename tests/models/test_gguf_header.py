"""The GGUF header reader, on the real file and on damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import find_card
from fiqkit.models.cards.gguf_header import read_header
from fiqkit.models.cards.weights import locate

SMOLLM = locate(find_card("smollm2-135m"))
HEADER = SMOLLM.read_bytes()[:1200]


def test_real_header() -> None:
    header = read_header(SMOLLM)
    assert header["general.architecture"] == "llama"
    assert (header["llama.block_count"], header["llama.attention.head_count_kv"]) == (30, 3)
    assert header["llama.context_length"] == 8192
    assert header["tokenizer.ggml.tokens"] == 49152  # of an array, its length
    assert "im_start" in header["tokenizer.chat_template"]


@given(st.binary(max_size=64), st.integers(0, 1199))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_damage_is_a_user_error_or_harmless(tmp_path: Path, noise: bytes, place: int) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(HEADER[:place] + noise + HEADER[place + len(noise) :])
    with pytest.raises(UserError, match=r"x\.gguf"):
        read_header(path)  # the header is longer than what was copied of it


def test_not_a_gguf(tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<html>404</html>")
    with pytest.raises(UserError, match="is not a GGUF file"):
        read_header(path)

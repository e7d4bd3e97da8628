"""Mutated files of every kind: one line each, no traceback, the rest read, nothing half-written."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from samples import KINDS
from test_ingest import assert_whole, rows

from fiqkit.filings.ingest import ingest

_TOKENS = [
    b"<",
    b">",
    b'"',
    b"&",
    b"\x00",
    b"\xff",
    b"{",
    b"]",
    b",",
    b"9" * 400,
    b"-",
    b"1e999",
    b"null",
    b"\n",
    b"\t",
]


def mutate(original: bytes, chance: random.Random) -> bytes:
    """One to four random changes: bytes flipped, cut out, doubled, moved, or replaced by something awkward."""
    data = original
    while data == original or chance.random() < 0.6:
        at, length = chance.randrange(len(data) + 1), chance.choice((1, 2, 8, 64, 512))
        piece = data[at : at + length]
        before, after = data[:at], data[at + length :]
        data = chance.choice(
            (
                before + bytes(chance.randrange(256) for _ in piece) + after,
                before + after,
                before + piece * chance.choice((2, 50)) + after,
                before + chance.choice(_TOKENS) + piece + after,
                before + chance.choice(_TOKENS) + after,
                before or piece,
                piece + after + before,
            )
        )
    return data


def check(name: str, count: int, place: Path) -> None:
    """Ingest `count` mutations of one kind and the whole file."""
    folder = place / "in"
    folder.mkdir()
    chance = random.Random(name)
    data, suffix = KINDS[name], re.sub(r"^[^.]*", "", name)
    whole = folder / f"whole 20241231{suffix}"
    whole.write_bytes(data)
    for n in range(count):
        (folder / f"{n} {chance.choice(['', '20241231'])}{suffix}").write_bytes(mutate(data, chance))
    out = place / "facts.db"
    summary = ingest([folder], out)
    for line in [*summary.faults, *summary.skipped]:
        assert line.startswith(str(folder)) and "\n" not in line and len(line) < 500, line
    named = {str(p) for p in folder.iterdir() if any(line.startswith(str(p)) for line in summary.faults)}
    read = {path for (path,) in rows(out, "SELECT DISTINCT path FROM files")}
    assert str(whole) in read
    if suffix != ".zip":  # of a zip some companies may be whole
        assert not named & read
    assert summary.faults
    assert_whole(out)


@pytest.mark.parametrize("name", KINDS)
def test_a_hundred_mutations(name: str, tmp_path: Path) -> None:
    check(name, 100, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_two_thousand_mutations(name: str, tmp_path: Path) -> None:
    check(name, 2000, tmp_path)

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fiqkit.errors import UserError
from fiqkit.index import Index, build
from fiqkit.index.lexical import is_chinese, terms
from fiqkit.records import Passage


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("What was Visa's revenue?", "visa"),
        ("BOEING commercial airplanes", "boeing"),
        ("云南白药的净利润是多少？", "baiyao"),
        ("600489", "zhongjin"),
    ],
)
def test_lexical_search_finds_the_company(lexical_index: Path, query: str, best: str) -> None:
    hits = Index.open(lexical_index).search(query)
    assert hits[0].passage_id == best
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("query", ["", "   ", "zzzz qqqq", "的", "!?"])
def test_a_query_that_matches_nothing_finds_nothing(lexical_index: Path, query: str) -> None:
    assert Index.open(lexical_index).search(query) == []


def test_never_more_hits_than_chunks(hybrid_index: Path, corpus: list[Passage]) -> None:
    hits = Index.open(hybrid_index).search("net income of Apple, Visa and Boeing", k=100)
    assert len(hits) == len({hit.passage_id for hit in hits}) <= len(corpus)


def test_english_is_fused_and_chinese_never_reaches_the_vectors(
    hybrid_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.open(hybrid_index)
    asked: list[str] = []
    nearest = index.nearest
    monkeypatch.setattr(index, "nearest", lambda queries: asked.extend(queries) or nearest(queries))
    index.search_many(["Visa revenue", "云南白药的净利润", "Apple 净利润是多少"])
    assert asked == ["Visa revenue"]


def test_fusion_sums_reciprocal_ranks(hybrid_index: Path) -> None:
    """A chunk first by one half and second by the other beats one that is first by a single half alone."""
    index = Index.open(hybrid_index)
    a, b, c = 0, 1, 2
    scored = {hit.passage_id: hit.score for hit in index._hits(3, [a, b], [b, c])}
    assert scored["boeing"] == pytest.approx(1 / 62 + 1 / 61)
    assert scored["visa"] == pytest.approx(1 / 61)
    assert scored["apple"] == pytest.approx(1 / 62)


def test_minus_one_is_dropped_and_is_not_the_last_chunk(hybrid_index: Path) -> None:
    index = Index.open(hybrid_index)
    found = np.array([[2, -1, -1]], dtype=np.int64)
    index.__dict__["_vectors"] = SimpleNamespace(search=lambda vectors, depth: (None, found))
    assert index.nearest(["Apple"]) == [[2]]


def test_ids_are_int64_and_vectors_unit_length(hybrid_index: Path) -> None:
    vectors = Index.open(hybrid_index)._vectors
    _, ids = vectors.search(np.ones((1, 64), dtype=np.float32), 2)
    assert ids.dtype == np.int64
    lengths = np.linalg.norm(vectors.reconstruct_n(0, vectors.ntotal), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_many_queries_at_once_answer_as_one_by_one(hybrid_index: Path) -> None:
    index = Index.open(hybrid_index)
    queries = ["Visa revenue", "", "中金黄金净利润", "net income", "Boeing Commercial Airplanes"]
    assert index.search_many(queries, k=4) == [index.search(query, k=4) for query in queries]


def test_threads_get_what_one_thread_gets(hybrid_index: Path) -> None:
    queries = ["Visa revenue", "云南白药的净利润", "Apple net income", "Boeing airplanes"] * 25
    one = Index.open(hybrid_index)
    expected = [one.search(query) for query in queries]
    shared = Index.open(hybrid_index)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared.search, queries)) == expected


def test_lexical_only_ignores_the_vectors(hybrid_index: Path) -> None:
    (hybrid_index / "vectors.faiss").unlink()
    assert Index.open(hybrid_index, lexical=True).search("Visa revenue")[0].passage_id == "visa"


def test_the_language_told_overrides_the_language_seen(hybrid_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.open(hybrid_index)
    monkeypatch.setattr(index, "nearest", lambda queries: [[3] for _ in queries])
    assert {hit.passage_id for hit in index.search("Visa", language="en")} == {"visa", "baiyao"}
    assert {hit.passage_id for hit in index.search("Visa", language="zh")} == {"visa"}


# --- what is refused ------------------------------------------------------------------------------------------------


def test_other_passages_make_the_index_stale(lexical_index: Path, corpus: list[Passage]) -> None:
    with pytest.raises(UserError, match=r"stale.*fiqkit index build"):
        Index.open(lexical_index, passages=[replace(corpus[0], text="Net revenue: $1 million"), *corpus[1:]])
    assert Index.open(lexical_index, passages=corpus).passages.keys() == {p.passage_id for p in corpus}


def test_passages_built_from_evidence_are_searched_and_need_not_be_brought(
    tmp_path: Path, corpus: list[Passage]
) -> None:
    done = build(corpus[:-1], tmp_path, built=corpus[-1:], embedder_name="none")
    assert (done.passages, done.built) == (4, 1)
    assert Index.open(tmp_path, passages=corpus[:-1]).search("中金黄金")[0].passage_id == "zhongjin"
    with pytest.raises(UserError, match="stale"):
        Index.open(tmp_path, passages=corpus)


def test_an_edited_passages_file_makes_the_index_stale(lexical_index: Path) -> None:
    path = lexical_index / "passages.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("8,123", "9,999"), encoding="utf-8")
    with pytest.raises(UserError, match="stale"):
        Index.open(lexical_index)


def test_other_weights_make_the_index_stale(
    hybrid_index: Path, hash_embedder: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_embedder, "sha256", "v2")
    index = Index.open(hybrid_index)
    assert index.search("云南白药")[0].passage_id == "baiyao"
    with pytest.raises(UserError, match="stale, built with other weights of 'hash'"):
        index.search("Visa revenue")


def test_an_unfinished_build_leaves_what_was_there(tmp_path: Path, corpus: list[Passage]) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    build(corpus, tmp_path / "old", embedder_name="none")
    for folder in ("old", "new"):
        with pytest.raises(KeyboardInterrupt):
            build(corpus[:1], tmp_path / folder, embedder_name="none", progress=stop)
    assert len(Index.open(tmp_path / "old").passages) == len(corpus)
    with pytest.raises(UserError, match=r"no finished index here \(manifest.json is missing\)"):
        Index.open(tmp_path / "new")
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "nonsense": 2}', "\x00\xff"])
def test_a_damaged_manifest_is_named(lexical_index: Path, text: str) -> None:
    (lexical_index / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=r"manifest\.json"):
        Index.open(lexical_index)


@pytest.mark.parametrize("name", ["chunks.jsonl", "vectors.faiss", "bm25/params.index.json", "bm25/vocab.index.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_file_is_one_line(hybrid_index: Path, name: str, damage: str) -> None:
    path = hybrid_index / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UserError) as raised:
        Index.open(hybrid_index).search("Visa revenue")
    assert "\n" not in str(raised.value)


def test_build_refuses_what_cannot_be_searched(tmp_path: Path, corpus: list[Passage]) -> None:
    with pytest.raises(UserError, match="no passages"):
        build([], tmp_path, embedder_name="none")
    with pytest.raises(UserError, match="'visa' stands twice"):
        build([corpus[0], corpus[0]], tmp_path, embedder_name="none")
    with pytest.raises(UserError, match="unknown embedder 'bert'; there are: minilm, none"):
        build(corpus, tmp_path, embedder_name="bert")


def test_an_unknown_passage_is_named(lexical_index: Path) -> None:
    with pytest.raises(UserError, match="no passage 'enron'"):
        Index.open(lexical_index).passage("enron")


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What was Visa's net income?", ["visa", "net", "income"]),
        ("AT&T 10-K, $1,234.5", ["at&t", "10", "1,234.5"]),
        ("净利润", ["净利", "利润"]),
        ("税", ["税"]),
        ("云南白药（000538）", ["云南", "南白", "白药", "000538"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    found = terms(text)
    assert [term for term in found if term not in ("k",)] == expected


@pytest.mark.parametrize(
    ("query", "chinese"),
    [
        ("云南白药净利润", True),
        ("Visa revenue", False),
        ("TCL的净利润", True),
        ("600489", False),
        ("", False),
        ("What did 美团 earn in 2023", False),
    ],
)
def test_language_is_told_from_the_query(query: str, chinese: bool) -> None:
    assert is_chinese(query) is chinese


# --- the command and the import -------------------------------------------------------------------------------------


def test_command_line(tmp_path: Path, lexical_index: Path) -> None:
    from click.testing import CliRunner

    from fiqkit.commands.index import command

    runner = CliRunner()
    passages = lexical_index / "passages.jsonl"
    built = runner.invoke(
        command, ["build", "--passages", str(passages), "--out", str(tmp_path / "i"), "--embedder", "none", "--json"]
    )
    assert built.exit_code == 0, built.output
    assert json.loads(built.stdout)["passages"] == 5
    assert "chunks" in built.stderr
    found = runner.invoke(command, ["search", "--index", str(tmp_path / "i"), "中金黄金净利润", "-k", "1", "--json"])
    assert [hit["passage_id"] for hit in json.loads(found.stdout)] == ["zhongjin"]


def test_import_and_chinese_search_load_no_heavy_library(lexical_index: Path) -> None:
    code = (
        "import sys; from fiqkit.index import Index; before = set(sys.modules);"
        "assert not {'torch', 'faiss', 'bm25s', 'numpy', 'sentence_transformers'} & before;"
        f"assert Index.open({str(lexical_index)!r}).search('云南白药');"
        "assert not {'torch', 'faiss', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"passage_id": "a", "text": "x", "ticker": 538}', "1: field 'ticker' is 538"),
        ('{"passage_id": "a", "text": "x", "company": ["q"]}', "1: field 'company' is"),
        ('{"passage_id": "a"}', "1: field 'text' is missing"),
        ('{"passage_id": "a", "text": "x", "language": "de"}', "1: language 'de'"),
        ('{"passage_id": "a", "text": "\\ud800"}', "1: not valid JSON"),
        ("", "no passages"),
    ],
)
def test_a_bad_passages_file_is_one_line_that_names_the_place(tmp_path: Path, row: str, message: str) -> None:
    from fiqkit.datasets import read_passages

    path = tmp_path / "p.jsonl"
    path.write_text(row + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        build(read_passages(path), tmp_path / "i", embedder_name="none")


def test_two_passages_under_one_id_are_refused_and_a_repeated_one_is_taken_once(tmp_path: Path) -> None:
    from fiqkit.datasets import read_passages

    path = tmp_path / "p.jsonl"
    row = '{"passage_id": "a:0001", "text": "Alpha sold 10.", "company": "Alpha", "candidate_answer": "%d"}'
    path.write_text(f"{row % 1}\n{row % 2}\n", encoding="utf-8")
    assert [(p.passage_id, p.text) for p in read_passages(path)] == [("a:0001", "Alpha sold 10.")]
    for field, other in (
        ("text", row.replace("Alpha sold", "Beta sold")),
        ("company", row.replace('y": "Alpha', 'y": "Beta')),
    ):
        path.write_text(f"{row}\n{other}\n", encoding="utf-8")
        with pytest.raises(UserError, match=rf"p.jsonl:2: .*'a:0001' already stands in line 1 with another {field}; "):
            read_passages(path)

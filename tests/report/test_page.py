"""The HTML page: it holds everything, loads nothing, and lets no text out of its place."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from fiqkit.errors import UserError
from fiqkit.figures import gallery
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Outcome
from fiqkit.report.document import make_report
from fiqkit.report.html import page, write_page
from fiqkit.report.page_episodes import _Texts
from fiqkit.store.store import Store
from fiqkit.train.logs import read_logs

NASTY = '</script><b onclick="x">&amp; 净利润 \u2028 $5'

# A probe's result with what its figures need, two layers and one category against the rest.
_LAYERS = [{"layer": n, "depth": n / 1.0, "separation": 0.5 * n, "low": 0.1, "high": 1.0} for n in (0, 1)]
_DECODED = [{"layer": n, "entity_scope": 0.6, "temporal_scope": 0.7} for n in (0, 1)]
PROBE = {
    "model": "m<1>",
    "layers": 2,
    "direction": {"profile": _LAYERS, "peak_layer": 1, "peak_depth": 1.0, "separation": 0.5},
    "category": {
        **{"profile": _DECODED, "pair": ["entity_scope", "temporal_scope"], "accuracy": 0.7, "logistic_accuracy": 0.7},
        **{"shuffled": 0.5, "baseline": 0.6, "ceiling": 0.9},
        "one_vs_rest": {name: {"layer": 1, "items": 9} for name in ("entity_scope", "temporal_scope")},
    },
    "controls": {
        "neutral": {"retained": 0.4, "retained_band": [0.2, 0.6]},
        **{"bag_of_words": {"accuracy": 0.6}, "length": {"accuracy": 0.5}, "cross_language": None},
        "cross_company": {"known_companies": 0.8},
    },
    "claims": [{"verdict": "does not survive", "claim": "<it> is more than length", "because": "p = 0.6"}],
}


@pytest.fixture(scope="module")
def text(store_file: Path) -> str:
    store = Store(store_file)
    return page(make_report(store), store)


def piece(tree, name: str):
    return json.loads(gzip.decompress(base64.b64decode(tree.get_element_by_id(name).text)))


def column(index: dict, name: str) -> list:
    found = index["columns"][name]
    return found if isinstance(found, list) else [found["of"][at] for at in found["at"]]


def listed(tree) -> list[dict]:
    """The episodes of the index, a record each."""
    index = piece(tree, "index")
    names = list(index["columns"])
    rows = zip(*(column(index, name) for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) | {"of": index["instances"]} for row in rows]


def in_full(tree, entry: dict) -> dict:
    """An episode with every text in its place, from the pieces that hold it."""
    index = piece(tree, "index")
    texts = [text for n in range(len(index["texts"])) for text in piece(tree, f"texts-{n}")]

    def fill(value):
        if isinstance(value, list) and value and isinstance(value[0], int):
            return "\n\n".join(texts[number] for number in value)
        if isinstance(value, list):
            return [fill(part) for part in value]
        return {key: fill(part) for key, part in value.items()} if isinstance(value, dict) else value

    return fill(piece(tree, f"block-{entry['block']}")[str(entry["id"])])


def test_the_page_holds_every_episode_in_full(text):
    tree = html.fromstring(text)
    episodes = listed(tree)
    assert len(episodes) == 32
    entry = next(e for e in episodes if (e["instance"], e["model"], e["mode"]) == ("d/t2", "alpha", "interact"))
    assert (entry["outcome"], entry["errors"], entry["asks"]) == ("other", ["E5"], 1)
    assert entry["of"]["d/t2"] == ["t2", f"{NASTY} 2?", ["entity_scope"], "en"]
    body = in_full(tree, entry)
    assert [turn[0] for turn in body["turns"]] == ["interact", "search", "answer"]
    assert body["turns"][0][1]["question"] == NASTY
    assert body["turns"][1][2:4] == ["hm", NASTY]
    assert body["opening"][0] == ["user", NASTY]
    assert [v["given_by"] for v in body["verdicts"]] == ["rules", "rules"]
    assert body["verdicts"][0]["touched"] == ["entity_scope"]
    assert piece(tree, "instances")[entry["instance"]]["answer"] == "$46.75B"
    assert {e["outcome"] for e in episodes} == {
        *("intended", "default", "other", "refusal", "unscored", "engine_error", "budget"),
    }


PARTS = st.lists(st.text("ab 净\n\u2028<\\", max_size=90), max_size=4)


@settings(max_examples=60)
@given(PARTS)
def test_texts_are_cut_and_come_back_whole(parts):
    texts = _Texts()
    put = [texts.put("\n\n".join(parts)), texts.put("\n\n".join(parts[1:]))]
    kept = [text for one in texts.pieces.all() for text in json.loads(gzip.decompress(base64.b64decode(one)))]
    assert len(kept) == len(set(kept))
    for given_, found in zip((parts, parts[1:]), put, strict=True):
        whole = found if isinstance(found, str) else "\n\n".join(kept[n] for n in found)
        assert whole == "\n\n".join(given_)


def test_no_text_leaves_its_place(text):
    tree = html.fromstring(text)
    assert not tree.xpath("//b[@onclick]")
    kinds = [script.get("type") for script in tree.xpath("//script")]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "application/octet-stream"}


def test_the_page_loads_nothing(text):
    tree = html.fromstring(text)
    assert not tree.xpath("//link | //script[@src] | //img | //iframe | //*[@srcset]")
    css = "".join(tree.xpath("//style/text()"))
    assert "@import" not in css and "url(" not in css
    names = {name for name in tree.xpath("//@href | //@*[name()='xlink:href']") if not name.startswith("#")}
    assert names == set()
    policy = tree.xpath("//meta[@http-equiv]/@content")[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("unsafe-inline") == 1  # of style attributes
    assert "style-src-attr 'unsafe-inline'" in policy
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(",
        (Path(write_page.__code__.co_filename).parent / "page.js").read_text(),
    )


def test_every_section_is_linked_and_there(text):
    tree = html.fromstring(text)
    linked = [href[1:] for href in tree.xpath("//nav/a/@href")]
    assert linked == tree.xpath("//section/@id")
    assert {"accuracy", "targeting", "skills", "lever", "tradeoff", "errors", "calibration", "entropy"} <= set(linked)


def test_warnings_are_shown(text):
    said = " ".join(html.fromstring(text).xpath("//p[@class='warning']/text()"))
    assert "1 unscored and 1 engine errors" in said and "run r1 is partial" in said


def test_same_store_same_page(store_file, monkeypatch):
    """Figures are compared byte by byte in their own room; one is enough here."""
    monkeypatch.setattr(gallery, "PLATES", gallery.PLATES[:1])
    store = Store(store_file)
    first, second = (page(make_report(store), store) for _ in range(2))
    assert first == second


def test_an_unwritable_page(store_file, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "PLATES", ())
    store = Store(store_file)
    report = make_report(store)
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(store_file)
    before = store_file.read_bytes()
    for name, said in (("file/page.html", "is a file"), ("folder", "is a folder"), ("link", "would be lost")):
        with pytest.raises(UserError, match=said):
            write_page(report, store, tmp_path / name)
    assert store_file.read_bytes() == before
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(UserError, match="No space left"):
        write_page(report, store, tmp_path / "file")
    assert sorted((p.name, p.is_file() and p.stat().st_size < 9) for p in tmp_path.iterdir() if p.name != "link") == [
        *[("file", True), ("folder", False)]
    ]


def test_runs_that_differ_in_their_seed_are_one_row(tmp_path, make_instance):
    """Three runs of one model: the middle of three accuracies, with the spread; a run of another temperature apart."""
    store = Store(tmp_path / "runs.db", create=True)
    instances = [make_instance(instance_id=f"t{i}", ticker=f"T{i}") for i in range(4)]
    for number, right in enumerate((1, 2, 3, 4)):
        settings_ = {"settings": {"seed": number, "turns": 12 if number < 3 else 6}}
        store.begin_run(f"r{number}", "run", "d", instances, settings_)
        outcomes = [Outcome.INTENDED] * right + [Outcome.DEFAULT] * (4 - right)
        played = [
            (Episode(f"t{i}", "m", "interact", Ending.ANSWERED, "x"), [AnswerVerdict.of("rules", Grade(outcome))])
            for i, outcome in enumerate(outcomes)
        ]
        store.write(f"r{number}", played)
    report = make_report(store, ["all"])
    [pool] = report.pooled
    assert (pool["run"], pool["runs"], pool["n"]) == ("3 runs", ["r0", "r1", "r2"], 12)
    assert pool["accuracy"] == pytest.approx(0.5)
    assert pool["accuracy_by_sample"] == [0.25, 0.5, 0.75]
    assert pool["pass_k"]["3"] == pytest.approx(0.25)  # t0 alone was right every time
    assert [row["run"] for row in report.material().rows] == ["3 runs", "r3"]
    tree = html.fromstring(page(report, store))
    lines = tree.xpath("//table[@class='main']/tbody[1]/tr[not(@class='model')]")
    told = [(line.get("class"), line.xpath("string(th)"), line.xpath("string(td[1])")) for line in lines]
    assert told == [
        *[(None, "interact · 3 runs", "12")],
        *[("member", f"interact · r{n}", "4") for n in range(3)],
        *[(None, "interact · r3", "4")],
    ]


def test_a_probe_is_shown_on_the_page(store_file, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "PLATES", ())
    store = Store(store_file)
    report = make_report(store)
    (tmp_path / "probe.json").write_text(json.dumps(PROBE))
    for path in (tmp_path, tmp_path / "probe.json"):
        text = page(report, store, [path])
        assert 'id="probe-0"' in text
        assert "Probe of m&lt;1&gt;" in text
        assert "&lt;it&gt; is more than length" in text
        assert text.count("<svg") == 3
    for broken, said in ((PROBE | {"direction": {}}, "lacks"), ({}, "not the result of a probe")):
        (tmp_path / "probe.json").write_text(json.dumps(broken))
        with pytest.raises(UserError, match=said):
            page(report, store, [tmp_path])
    with pytest.raises(UserError, match="no probe result"):
        page(report, store, [tmp_path / "none"])


def test_a_training_is_shown_on_the_page(store_file, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "PLATES", ())
    rows = [{"step": n, "loss": 1 / n, "reward": n / 9, "reward_std": 0.1} for n in (1, 2, 3)]
    for stage in ("grpo", "sft"):
        (tmp_path / "ladder" / stage).mkdir(parents=True)
        lines = [*rows, {"step": 2, "loss": 9.0}, {"step": 3, "eval_loss": 0.5}, {"step": 3, "train_runtime": 7}]
        text = "".join(json.dumps(row) + "\n" for row in lines)
        (tmp_path / "ladder" / stage / "log.jsonl").write_text(text)
    name, stages = read_logs(tmp_path / "ladder")
    assert (name, list(stages)) == ("ladder", ["sft", "grpo"])
    assert [line["loss"] for line in stages["sft"]] == [1.0, 9.0, pytest.approx(1 / 3)]
    assert stages["sft"][2]["eval_loss"] == 0.5
    store = Store(store_file)
    text = page(make_report(store), store, training=[tmp_path / "ladder"])
    assert "Training: ladder" in text
    assert all(title in text for title in ("sft: reward", "grpo: reward"))
    (tmp_path / "odd.jsonl").write_text('{"step": 1, "epoch": 2}\n')
    for path, said in ((tmp_path, "no log.jsonl"), (tmp_path / "odd.jsonl", "neither a loss nor a reward")):
        with pytest.raises(UserError, match=said):
            read_logs(path)

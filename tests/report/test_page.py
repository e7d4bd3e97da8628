"""The HTML page: it holds everything, loads nothing, and lets no text out of its place."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lxml import html

from fiqkit.errors import UserError
from fiqkit.figures import gallery
from fiqkit.report.document import make_report
from fiqkit.report.html import page, write_page
from fiqkit.store.store import Store

NASTY = '</script><b onclick="x">&amp; 净利润 \u2028 $5'


@pytest.fixture(scope="module")
def text(store_file: Path) -> str:
    store = Store(store_file)
    return page(make_report(store), store)


def chunks(tree) -> list[dict]:
    scripts = tree.xpath("//script[starts-with(@id, 'chunk-')]")
    return [json.loads(gzip.decompress(base64.b64decode(script.text))) for script in scripts]


def test_the_page_holds_every_episode_in_full(text):
    tree = html.fromstring(text)
    index = json.loads(tree.get_element_by_id("index").text)
    assert len(index["episodes"]) == 32
    pieces = chunks(tree)
    entry = next(e for e in index["episodes"] if (e["instance"], e["model"], e["mode"]) == ("t2", "alpha", "interact"))
    assert (entry["outcome"], entry["errors"], entry["language"], entry["asks"]) == ("other", ["E5"], "en", 1)
    body = pieces[entry["chunk"]][str(entry["id"])]
    assert [turn["action"] for turn in body["turns"]] == ["interact", "search", "answer"]
    assert body["turns"][0]["content"]["question"] == NASTY
    assert body["turns"][1]["reasoning"] == "hm"
    assert body["opening"][0]["content"] == NASTY
    assert [v["given_by"] for v in body["verdicts"]] == ["rules", "rules"]
    assert body["verdicts"][0]["touched"] == ["entity_scope"]
    assert pieces[0][entry["key"]]["answer"] == "$46.75B"
    assert {e["outcome"] for e in index["episodes"]} == {
        *("intended", "default", "other", "refusal", "unscored", "engine_error", "budget"),
    }


def test_no_text_leaves_its_place(text):
    tree = html.fromstring(text)
    assert not tree.xpath("//b[@onclick]")
    assert len(tree.xpath("//script")) == 2 + len(chunks(tree))


def test_the_page_loads_nothing(text):
    tree = html.fromstring(text)
    assert not tree.xpath("//link | //script[@src] | //img | //iframe | //*[@srcset]")
    css = "".join(tree.xpath("//style/text()"))
    assert "@import" not in css and "url(" not in css
    names = {name for name in tree.xpath("//@href | //@*[name()='xlink:href']") if not name.startswith("#")}
    assert names == set()
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv]/@content")[0]
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
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is a file; name another place"):
        write_page(make_report(store), store, tmp_path / "file" / "page.html")


def test_a_probe_is_shown_on_the_page(store_file, tmp_path):
    store = Store(store_file)
    claims = [{"verdict": "does not survive", "claim": "<it> is more than length", "because": "p = 0.6"}]
    result = {"model": "m<1>", "layers": 2, "direction": {}, "category": {}, "controls": {}, "claims": claims}
    (tmp_path / "probe.json").write_text(json.dumps(result))
    (tmp_path / "depth.svg").write_text('<?xml version="1.0"?><svg id="drawn"></svg>')
    text = page(make_report(store), store, [tmp_path])
    assert 'id="probe-0"' in text
    assert "Probe of m&lt;1&gt;" in text
    assert "&lt;it&gt; is more than length" in text
    assert '<svg id="drawn">' in text
    assert "<?xml" not in text
    with pytest.raises(UserError, match="no probe result"):
        page(make_report(store), store, [tmp_path / "none"])


@pytest.mark.browser
def test_a_browser_lists_filters_and_opens_episodes(store_file, tmp_path):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium at hand")
    store = Store(store_file)
    write_page(make_report(store), store, tmp_path / "page.html")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
    url = f"{(tmp_path / 'page.html').as_uri()}#e11"
    done = subprocess.run(
        [chromium, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=4000", "--dump-dom", url],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    tree = html.fromstring(done.stdout)
    assert tree.get_element_by_id("count").text == "32 of 32 episodes"
    assert len(tree.xpath("//*[@id='episode-list']/tbody/tr")) == 25
    panel = tree.get_element_by_id("episode").text_content()
    assert NASTY in panel
    assert "rules judges: Entity scope (says consolidated)" in panel
    assert {s.get("name") for s in tree.xpath("//*[@id='filters']//select")} >= {"outcome", "language", "mode", "model"}

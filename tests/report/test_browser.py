"""The page in a real browser: what it shows at each width, in the dark and on paper, where links land, what it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, chromium
from invented import NASTY, invented_episode, invented_instance

from fiqkit.report.document import make_report
from fiqkit.report.html import write_page
from fiqkit.store.store import Store

pytestmark = pytest.mark.browser

LAST = 192  # episodes
LOOK = (Path(__file__).parent / "look.js").read_text()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of two models in two modes, one of them with a name as long as a path."""
    folder = tmp_path_factory.mktemp("page")
    store = Store(folder / "runs.db", create=True)
    instances = [invented_instance(i) for i in range(8)]
    for run in range(6):
        store.begin_run(f"20261201-01183{run}-0ae7f3", "run", "d", instances, {"settings": {"seed": run, "turns": 12}})
        played = [
            invented_episode(model, mode, i)
            for model in ("alpha", "organisation/a-model-with-a-long-name-32b-instruct-2507-awq")
            for mode in ("search", "interact")
            for i in range(8)
        ]
        store.write(f"20261201-01183{run}-0ae7f3", played)
    report = make_report(store, ["all"])
    write_page(replace(report, comparisons=report.comparisons[:3]), store, folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("no Chromium at hand: chromium, chromium-browser, google-chrome or chrome on the path")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def tab(browser: Browser, page: Path) -> Browser:
    """The page in a wide window, ready."""
    browser.errors.clear()
    browser.asked.clear()
    browser.look(1360)
    visit(browser, page)
    return browser


def visit(browser: Browser, page: Path, mark: str = "") -> None:
    browser.open(f"{page.as_uri()}{mark}")
    browser.wait("document.documentElement.dataset.ready")
    browser.run(LOOK)


def text(browser: Browser, selector: str) -> Any:
    return browser.run(f"document.querySelector({selector!r}).innerText")


def test_it_runs_its_own_script_and_nothing_else(tab: Browser, page: Path) -> None:
    assert tab.errors == []
    assert [url for url in tab.asked if url.startswith(("http", "file"))] == [page.as_uri()]
    tab.run("window.ran = []; addEventListener('securitypolicyviolation', (e) => ran.push(e.effectiveDirective))")
    tab.run("document.body.append(el('script', {}, 'window.ran.push(1)'), el('style', {}, 'body{color:red}'))")
    tab.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran.push(2)\">')")
    tab.wait("window.ran.length >= 4")
    assert set(tab.run("window.ran")) == {"script-src-elem", "script-src-attr", "style-src-elem", "img-src"}


@pytest.mark.parametrize(("width", "scheme"), [(1360, "light"), (1360, "dark"), (390, "light")])
def test_nothing_runs_over_the_edge_at_any_width(tab: Browser, width: int, scheme: str) -> None:
    tab.look(width, scheme=scheme)
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("look.overTheEdge()") == []
    assert tab.run("look.clipped()") == []
    if width > 1000:
        table = "document.querySelector('.main').parentElement"
        assert tab.run(f"{table}.scrollWidth") == tab.run(f"{table}.clientWidth")


def test_in_the_dark_everything_can_be_read(tab: Browser) -> None:
    tab.run("read(episodes[40])")
    tab.wait("document.querySelector('#episode .turn')")
    for scheme, paper in (("light", "rgb(251, 250, 247)"), ("dark", "rgb(18, 23, 31)")):
        tab.look(1360, scheme=scheme)
        assert tab.run("getComputedStyle(document.body).backgroundColor") == paper
        assert tab.run("look.faint()") == []
    assert tab.run("getComputedStyle(document.querySelector('figure svg text')).fill") != "rgb(20, 35, 59)"


def test_on_paper_are_dots_and_every_column(tab: Browser) -> None:
    tab.look(1030, 700, scheme="dark", media="print")
    table = "document.querySelector('.main').getBoundingClientRect()"
    assert tab.run(f"{table}.right") <= 1030
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    dot = "getComputedStyle(document.querySelector('.bar .dot'))"
    assert tab.run(f"[{dot}.printColorAdjust, {dot}.width]") == ["exact", "8px"]
    assert tab.run("[...document.querySelectorAll('.member')].every((row) => row.offsetHeight)")
    assert tab.run("document.querySelector('#episodes').offsetHeight") == 0
    assert len(tab.call("Page.printToPDF", preferCSSPageSize=True)["data"]) > 10_000


def test_a_link_lands_on_its_episode_wherever_it_is(tab: Browser, page: Path) -> None:
    visit(tab, page, f"#e{LAST}")
    tab.wait("document.querySelector('#episode h3')")
    assert f"episode {LAST} · " in text(tab, "#episode .meta")
    row = "document.querySelector('#episode-list tr.open')"
    assert tab.run(f"{row}.dataset.id") == str(LAST)
    box = "document.getElementById('episodes').getBoundingClientRect()"
    assert tab.run(f"{box}.top < innerHeight && {box}.bottom > 0")
    tab.run("look.set('select[name=model]', 'alpha', 'change')")
    tab.wait("document.getElementById('count').textContent === '96 of 192 episodes'")
    tab.run("location.hash = '#e191'")  # filtered out: the filter goes, not the link
    tab.wait("document.querySelector('#episode .meta')?.innerText.includes('episode 191 · ')")
    assert (tab.run(f"{row}.dataset.id"), text(tab, "#count")) == ("191", "192 of 192 episodes")
    tab.run("document.querySelector('.buttons button').click()")
    tab.wait("location.hash === '#e190'")


def test_the_search_reads_every_word_of_every_episode(tab: Browser) -> None:
    def search(words: str) -> str:
        tab.run(f"look.set('input[name=text]', {words!r}, 'input')")
        tab.wait("!document.getElementById('count').textContent.startsWith('reading')")
        tab.run("new Promise((done) => setTimeout(done, 400))")
        return str(text(tab, "#count"))

    assert search("T7") == "24 of 192 episodes"  # an instance's id
    assert search("Pottery nowhere") == "0 of 192 episodes"
    assert search("净利润") == "192 of 192 episodes"
    assert search("SAYS CONSOLIDATED") == "96 of 192 episodes"  # why the judge said so
    assert search("gone") == "24 of 192 episodes"  # what the engine failed with
    tab.run("document.querySelector('#filters button').click()")
    tab.wait("document.getElementById('count').textContent === '192 of 192 episodes'")


def test_the_list_shows_questions_and_the_reader_all_of_an_episode(tab: Browser) -> None:
    assert NASTY[:20] in text(tab, "#episode-list .asked")
    tab.run("read(episodes.find((e) => e.name === 't2' && e.mode === 'interact'))")
    tab.wait("document.querySelector('#episode .verdict')")
    told = text(tab, "#episode")
    assert NASTY.replace("\u2028", "") in told.replace("\u2028", "")
    assert "rules judges: Entity scope (says consolidated)" in told
    assert tab.errors == []


def test_repeated_runs_are_one_row_until_asked_for(tab: Browser) -> None:
    hidden = "[...document.querySelectorAll('.member')].filter((row) => !row.offsetHeight).length"
    assert tab.run(hidden) == 24
    tab.run("document.querySelector('button.members').click()")
    assert tab.run(hidden) == 12
    assert "interact · 6 runs" in text(tab, ".main")


def test_an_episode_saved_alone_is_a_page_without_scripts(tab: Browser, tmp_path: Path) -> None:
    tab.run("read(episodes[20])")
    tab.wait("document.querySelector('#episode .verdict, #episode dl')")
    number = tab.run("episodes[20].id")
    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    tab.run("document.getElementById('save').click()")
    file = tmp_path / f"episode-{number}.html"
    tab.wait("true")
    for _ in range(100):
        if file.exists():
            break
        tab.run("new Promise((done) => setTimeout(done, 50))")
    shown = text(tab, "#episode h3")
    tab.errors.clear()
    tab.open(file.as_uri())
    assert text(tab, "#episode h3") == shown
    assert tab.run("document.querySelectorAll('script, button').length") == 0
    assert tab.run("document.querySelector('main').getBoundingClientRect().width") <= 860
    assert tab.errors == []

"""An agent and prompts of the user's own: the documented example, and what is wrong with those that do not work."""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import mode
from fiqkit.agent.own import OwnAgent, card_of, names_factory
from fiqkit.agent.policy import play
from fiqkit.agent.prompts import FOLDER, Prompts, prompt_texts, prompts_hash
from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.records import Ending, Episode, Instance
from fiqkit.roles.simulator.rules import RulesSimulator
from fiqkit.run.evaluation import Settings, evaluate
from fiqkit.run.lineup import Lineup
from fiqkit.store.store import Store

Make = Callable[..., Instance]
DOC = Path(__file__).parents[2] / "docs" / "own-agent.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def test_the_documented_agent_is_thirty_lines_and_plays(folder: Path) -> None:
    (folder / "careful.py").write_text(EXAMPLES[0])
    assert len([line for line in EXAMPLES[0].splitlines() if line.strip()]) <= 30
    lineup = Lineup(agent=("careful:factory",), modes=("search", "interact"), retrieval="own")
    result = asyncio.run(evaluate(Settings(lineup=lineup, store=folder / "r.db", limit=16)))
    rows = {row["mode"]: row for row in result.rows}
    assert rows["interact"]["interaction_rate"] == 1.0
    assert rows["interact"]["ac1_touch"] > 0
    assert rows["search"]["commitment"] > 0.9
    described = Store(folder / "r.db").resolve("last")["manifest"]["agents"][0]
    assert (described["name"], len(described["source"])) == ("careful:factory", 16)


def test_an_own_agent_that_asks_a_model_is_handed_the_engine(folder: Path, make_instance: Make) -> None:
    (folder / "prefaced.py").write_text(EXAMPLES[1] + "\n\nfactory = Prefaced\n")
    engine = ScriptedEngine(['{"action": "answer", "response": "$46.75B", "confidence": 70}'])
    agent = OwnAgent("prefaced:factory@some-card", engine)
    episode = asyncio.run(play(agent, Environment(make_instance(), mode("answer"), World(RulesSimulator()))))
    assert (episode.ending, episode.answer) == (Ending.ANSWERED, "$46.75B")
    assert "layman" in (engine.requests[0].messages or ())[-1]["content"]


def played(folder: Path, instance: Instance, source: str) -> Episode:
    (folder / "mine.py").write_text(dedent(source))
    agent = OwnAgent("mine:factory")
    return asyncio.run(play(agent, Environment(instance, mode("answer"), World(RulesSimulator()))))


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def factory(seed):\n    raise OSError('no key')", "OSError: no key"),
        (
            "class factory:\n    def __init__(self, seed): ...\n    def act(self, d): return d.instance",
            "AttributeError",
        ),
        ("class factory:\n    def __init__(self, seed): ...\n    def act(self, d): return {'a': 1}", "act() gave dict"),
    ],
)
def test_a_fault_of_ones_own_is_a_bug_with_its_traceback(
    folder: Path, make_instance: Make, source: str, fault: str
) -> None:
    episode = played(folder, make_instance(), source)
    assert episode.ending == Ending.BUG
    assert fault in (episode.error or "")


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("nowhere:factory", "", "there is no module 'nowhere'"),
        ("mine.deeper:factory", "", "there is no module 'mine.deeper'"),
        ("mine:other", "factory = 1", "has nothing named 'other'"),
        ("mine:factory", "factory = 1", "that can be called"),
        ("mine:factory", "import not_installed_here", "needs 'not_installed_here'"),
        ("mine:factory", "1 / 0", "ZeroDivisionError"),
        ("mine:factory", "def (", "SyntaxError"),
    ],
)
def test_what_cannot_be_imported_is_one_line(folder: Path, name: str, source: str, message: str) -> None:
    (folder / "mine.py").write_text(source)
    with pytest.raises(UserError, match=re.escape(message)) as raised:
        OwnAgent(name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "is_factory", "card"),
    [
        ("careful:factory", True, None),
        ("pkg.mod:make@qwen3-4b", True, "qwen3-4b"),
        ("qwen3-4b", False, None),
        ("http://127.0.0.1:8000/v1#m", False, None),
        ("/models/x.gguf", False, None),
        ("my=http://127.0.0.1:8000/v1", False, None),
    ],
)
def test_a_factory_is_told_from_other_agents(name: str, is_factory: bool, card: str | None) -> None:
    assert (names_factory(name), card_of(name)) == (is_factory, card)


# --- prompts --------------------------------------------------------------------------------------------------------


def test_own_prompts_stand_before_the_bundled_ones_and_change_the_hash(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "task.md").write_text("Ask before you guess.")
    mine, bundled = Prompts.of("en", tmp_path), Prompts.of("en")
    assert mine.text("task") == "Ask before you guess."
    assert mine.text("last_turn") == bundled.text("last_turn")
    assert mine.system(mode("answer")).startswith("Ask before you guess.")
    assert Prompts.of("zh", tmp_path).text("task") == Prompts.of("zh").text("task")
    assert prompts_hash(tmp_path) != prompts_hash()
    assert prompt_texts(tmp_path)["en/task"] == "Ask before you guess."


def test_a_dollar_sign_is_written_twice_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "task.md").write_text("A mistake costs $$5.")
    (tmp_path / "en" / "question.md").write_text("For $$5: $question")
    mine = Prompts.of("en", tmp_path)
    assert mine.system(mode("answer")).startswith("A mistake costs $5.")
    assert mine.opening("how much?", []) == "For $5: how much?"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (None, "", "holds no prompt"),
        ("en/taks.md", "x", "no prompt of that name"),
        ("en/question.md", "The question.", r"its \$names must be \$question"),
        ("en/task.md", "It costs $5.", r"its \$names must be none"),
        ("en/question.md", "$question in $language", r"its \$names must be \$question"),
    ],
)
def test_prompts_that_cannot_work_are_one_line(tmp_path: Path, file: str | None, text: str, message: str) -> None:
    if file:
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    with pytest.raises(UserError, match=message) as raised:
        asyncio.run(evaluate(Settings(prompts=tmp_path, store=tmp_path / "r.db")))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "r.db").exists()


def test_both_languages_have_the_same_prompts_with_the_same_names() -> None:
    from string import Template

    texts = prompt_texts()
    shape = {
        language: {
            name.partition("/")[2]: sorted(Template(text).get_identifiers())
            for name, text in texts.items()
            if name.startswith(language)
        }
        for language in ("en", "zh")
    }
    assert shape["en"] == shape["zh"]
    assert {path.stem for path in (FOLDER / "en").glob("*")} == set(shape["en"])

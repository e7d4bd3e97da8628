"""What must hold of any episode: no gradient where the environment spoke, and a loss that no arrangement changes."""

from __future__ import annotations

import importlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from chat_templates import TEMPLATES

from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.world import World
from fiqkit.datasets import read_instances
from fiqkit.metrics.reward import Terms
from fiqkit.models.engine import Sampling
from fiqkit.models.scripted import ScriptedEngine
from fiqkit.models.template import ChatTemplate
from fiqkit.records import Ending, Episode, Instance, Passage
from fiqkit.roles.assess import Assessor
from fiqkit.roles.grader.rules import RulesGrader
from fiqkit.roles.judge.rules import RulesJudge
from fiqkit.train import grpo, kto, sft
from fiqkit.train.demos import world_for
from fiqkit.train.model import Trainee, load
from fiqkit.train.recipe import Recipe
from fiqkit.train.rollouts import Rolled, Roller, TokenPolicy
from fiqkit.train.rows import Row, join

Make = Callable[..., Recipe]
EPISODES = 500
BUNDLED = Path(__file__).parents[2] / "fiqkit" / "bench_data"


def silent(line: str) -> None:
    """Say nothing."""


def random_rows(number: int, seed: int = 0) -> list[Row]:
    """Episodes of one to four turns, each with a prompt and a reply of one to eight tokens; no two begin alike."""
    random = Random(seed)
    rows = []
    for _ in range(number):
        said: list[int] = [random.randrange(200) for _ in range(4)]
        turns = []
        for _ in range(random.randint(1, 4)):
            said = said + [random.randrange(200) for _ in range(random.randint(1, 8))]
            reply = [random.randrange(200) for _ in range(random.randint(1, 8))]
            turns.append((said, reply))
            said = said + reply
        (row,) = join(turns)
        rows.append(row)
    return rows


@contextmanager
def watched(trainee: Trainee) -> Iterator[list[tuple[list[int], list[bool]]]]:
    """Collects, for each row that is computed with gradients, its tokens and whether a gradient reached each position.

    What leaves the final norm at position i is used for token i + 1 alone.
    """
    found: list[tuple[list[int], list[bool]]] = []
    inner = trainee.model.get_base_model().model
    ids: list[Any] = []

    def keep(module: Any, inputs: Any, output: Any) -> None:
        if output.requires_grad:
            seen = ids[-1].tolist()
            output.register_hook(lambda grad: found.extend(zip(seen, (grad.abs().sum(-1) != 0).tolist(), strict=True)))

    hooks = [
        inner.embed_tokens.register_forward_pre_hook(lambda module, inputs: ids.append(inputs[0])),
        inner.norm.register_forward_hook(keep),
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def check_gradients(found: Sequence[tuple[list[int], list[bool]]], rows: Sequence[Row], pad: int) -> int:
    """Hold the gradients of computed rows, padded on either side or packed, against the masks. Returns how many."""
    by_start: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_start[row.ids[:4]].append(row)
    seen = 0
    for ids, moved in found:
        place = 0
        while place < len(ids):
            if ids[place] == pad:
                assert not moved[place] or ids[place + 1 : place + 2] != [pad]
                place += 1
                continue
            candidates = by_start[tuple(ids[place : place + 4])]
            row = next(r for r in candidates if tuple(ids[place : place + len(r.ids)]) == r.ids)
            end = place + len(row.ids)
            assert moved[place : end - 1] == [bool(own) for own in row.mask[1:]]
            assert not moved[end - 1]
            place = end
            seen += 1
    return seen


@pytest.mark.parametrize("packing", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_sft_moves_every_token_of_the_model_and_none_of_the_environment(
    packing: bool, tiny_recipe: Make, tmp_path: Path
) -> None:
    made = tiny_recipe(f"sft.batch={5 if packing else 50}", f"sft.packing={str(packing).lower()}", "max_length=300")
    trainee, rows = load(made), random_rows(EPISODES)
    with watched(trainee) as found:
        sft.train(trainee, made, rows, [], tmp_path, silent)
    assert check_gradients(found, rows, trainee.tokenizer.pad_token_id) == EPISODES


@pytest.mark.slow
def test_kto_moves_every_token_of_the_model_and_none_of_the_environment(tiny_recipe: Make, tmp_path: Path) -> None:
    made = tiny_recipe("kto.batch=50", "max_length=300")
    trainee, rows = load(made), random_rows(EPISODES)
    with watched(trainee) as found:
        kto.train(trainee, made, rows[::2], rows[1::2], tmp_path, silent)
    assert check_gradients(found, rows, trainee.tokenizer.pad_token_id) == EPISODES


def test_grpo_moves_every_token_of_the_model_and_none_of_the_environment(
    items: list[Instance],
    passages: list[Passage],
    tiny_recipe: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = tiny_recipe("grpo.steps=10", "grpo.batch=50", "grpo.group=10", "max_length=300")
    trainee, rows, random = load(made), random_rows(EPISODES), Random(1)
    waiting = iter(rows)

    def roll(self: Roller, instances: Sequence[Instance], seeds: Sequence[int]) -> list[Rolled]:
        return [rolled(next(waiting), instance) for instance in instances]

    monkeypatch.setattr(Roller, "roll", roll)
    monkeypatch.setattr(grpo, "mean_gap", lambda *_: 0.0)
    monkeypatch.setattr(grpo, "reward_of", lambda *_: Terms(random.random(), 0, 0, 0))
    with watched(trainee) as found:
        grpo.train(trainee, made, items, a_world(items, passages, made), judges(), tmp_path, silent)
    assert check_gradients(found, rows, trainee.tokenizer.pad_token_id) == EPISODES


def rolled(row: Row, instance: Instance) -> Rolled:
    episode = Episode(instance.instance_id, "live", "interact", Ending.BUDGET)
    return Rolled(instance, episode, row, tuple(-1.0 * own for own in row.mask), row.prompt_length, ())


def a_world(items: Sequence[Instance], passages: Sequence[Passage], made: Recipe) -> World:
    return world_for(items, passages, made.rollout)


def judges() -> Assessor:
    return Assessor(RulesGrader(), RulesJudge())


def test_lengths_are_equal_and_a_batch_in_which_the_model_wrote_nothing_raises(items: list[Instance]) -> None:
    made = [rolled(row, items[0]) for row in random_rows(EPISODES)]
    fields = grpo.fields_of(made, [Terms(0, 0, 0, 0)] * len(made))
    for ids, mask, chances in zip(fields["completion_ids"], fields["env_mask"], fields["logprobs"], strict=True):
        assert len(ids) == len(mask) == len(chances)
        assert mask[0] == 1
    late = [replace(one, prompt_length=len(one.row.ids) - one.row.mask[::-1].index(1)) for one in made]
    with pytest.raises(ValueError, match="the model wrote nothing"):
        grpo.fields_of(late, [Terms(0, 0, 0, 0)] * len(late))


# --- invariance -----------------------------------------------------------------------------------------------------


def losses(out: Path) -> list[float]:
    lines = (out / "log.jsonl").read_text().splitlines()
    return [entry["loss"] for line in lines if "loss" in (entry := json.loads(line))]


def test_batches_accumulation_and_packing_give_the_same_loss(tiny_recipe: Make, tmp_path: Path) -> None:
    """Four rows in one step: in one batch, accumulated one by one, and packed into one sequence."""
    rows, found = random_rows(4), {}
    for name, settings in {
        "4x1": ("sft.batch=4", "sft.accumulate=1"),
        "1x4": ("sft.batch=1", "sft.accumulate=4"),
        "packed": ("sft.batch=1", "sft.accumulate=1", "sft.packing=true", "max_length=300"),
    }.items():
        made = tiny_recipe(*settings)
        sft.train(load(made), made, rows, [], tmp_path / name, silent)
        (found[name],) = losses(tmp_path / name)
    assert found["1x4"] == pytest.approx(found["4x1"], rel=1e-4)
    assert found["packed"] == pytest.approx(found["4x1"], rel=1e-4)


def test_a_run_that_was_interrupted_goes_on_to_the_same_losses(tiny_recipe: Make, tmp_path: Path) -> None:
    made = tiny_recipe("sft.batch=4", "sft.accumulate=1", "sft.epochs=3", "sft.learning_rate=1e-2")
    rows = random_rows(8)
    sft.train(load(made), made, rows, [], tmp_path / "straight", silent)

    def interrupt(line: str) -> None:
        if line.startswith("step 5 "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sft.train(load(made), made, rows, [], tmp_path / "resumed", interrupt)
    sft.train(load(made), made, rows, [], tmp_path / "resumed", silent)
    straight, resumed = losses(tmp_path / "straight"), losses(tmp_path / "resumed")
    assert len(straight) == 6
    assert resumed[:5] == pytest.approx(straight[:5], rel=1e-5)
    assert resumed[-2:] == pytest.approx(straight[-2:], rel=1e-5)  # from the checkpoint after step 4


# --- what the rows and the reward may know ---------------------------------------------------------------------------


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a benchmark as a module."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_token_that_was_drawn_is_made_anew(name: str, benchmark: Callable[[str], ModuleType]) -> None:
    module = benchmark("retokenised")
    found = module.count(name, TEMPLATES[name], 40, module.tokenizer(), seed=1)
    assert found["retokenised"] == 0
    assert found["tokens"] > 500
    assert found["rows_per_episode"] > 1.5  # most replies are no encoding of their text, so that rows do break


def test_the_reward_knows_the_answer_only_where_the_search_does(
    passages: list[Passage], benchmark: Callable[[str], ModuleType]
) -> None:
    measure = benchmark("reward_leak").measure
    everything = read_instances(BUNDLED / "instances.jsonl")[:120]
    own, leak = (measure(everything, passages, retrieval) for retrieval in ("own", "intended-span"))
    assert own["siblings"] > 60
    assert own["right"] == pytest.approx(own["by_chance"])
    assert own["bits"] == 0
    assert (leak["right"], leak["reward"]) == (1.0, pytest.approx(0.7))
    assert leak["bits"] > 0.9


def test_an_empty_reply_does_not_end_the_training() -> None:
    """It is shown to a template as a mark, which is no token of the episode."""
    template = ChatTemplate("t", TEMPLATES["chatml"], {})
    policy = TokenPolicy(
        ScriptedEngine([""]), template, lambda text: [ord(char) for char in text], "<|im_end|>", Sampling()
    )
    opening = ({"role": "system", "content": "S"}, {"role": "user", "content": "Q"})
    policy._shown = template.render(opening)
    grown = (*opening, {"role": "assistant", "content": ""}, {"role": "user", "content": "again"})
    rest = policy._rest(template.render(grown), Dialogue(grown, (), {}))
    assert rest == "\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n"

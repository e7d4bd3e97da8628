"""GRPO over whole episodes (Shao et al. 2024): groups of episodes of one question, rolled out in the Environment.

The reward's terms are logged one by one. What the environment wrote is masked; TRL 1.16 pads a mask that is too short
with ones and trains on one that is all zeros, so lengths are checked here, and raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fiqkit.agent.world import World
from fiqkit.errors import UserError
from fiqkit.metrics.reward import Terms
from fiqkit.models.engine import Sampling
from fiqkit.models.local.transformers import TransformersEngine
from fiqkit.records import AnswerVerdict, Instance, Outcome
from fiqkit.roles.assess import Assessor
from fiqkit.train import watch
from fiqkit.train.model import Trainee, context_of
from fiqkit.train.recipe import Recipe
from fiqkit.train.reward import bits, bits_terms, scored
from fiqkit.train.rollouts import Rolled, Roller

_GAP_OF = 2  # episodes of a step on which the trainer's log probabilities are computed a second time
TERMS = ("right", "on_category", "silent", "further")


def train(
    trainee: Trainee,
    recipe: Recipe,
    instances: Sequence[Instance],
    world: World,
    assessor: Assessor,
    out: Path,
    say: watch.Say,
    validation: Sequence[Instance] = (),
) -> dict[str, float]:
    """Optimise the adapter on the reward of its own episodes; with validation instances the checkpoint that earns most
    on them is kept.

    Raises:
        UserError: no instance, a template that is not prefix-preserving, or a verdict that could not be had.
    """
    if not instances:
        raise UserError("there is no instance to roll out on")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    settings = recipe.grpo
    between = max(1, settings.steps // 3)
    chosen = {**watch.BEST, "eval_strategy": "steps", "eval_steps": between, "metric_for_best_model": "eval_reward"}
    shared = watch.arguments(out, steps_per_save=between) | (chosen if validation else {})
    config = GRPOConfig(
        **shared,
        max_steps=settings.steps,
        per_device_train_batch_size=settings.batch,
        per_device_eval_batch_size=settings.batch,
        num_generations=settings.group,
        num_generations_eval=1,
        learning_rate=settings.learning_rate,
        beta=settings.beta,
        temperature=settings.temperature,
        max_completion_length=recipe.max_length,
        reward_weights=[1.0] * len(TERMS),
        seed=recipe.seed,
        data_seed=recipe.seed,
    )
    by_id = {instance.instance_id: instance for instance in (*instances, *validation)}
    engine = TransformersEngine.wrap(
        trainee.model, trainee.tokenizer, context=context_of(recipe), parallel=settings.batch
    )
    roller = Roller(
        engine=engine,
        template=trainee.template,
        encode=trainee.encode,
        end=trainee.tokenizer.eos_token,
        world=world,
        assessor=assessor,
        mode=recipe.rollout.mode,
        sampling=Sampling(max_tokens=settings.max_tokens, temperature=settings.temperature),
        turns=settings.turns,
    )

    def rollout(prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        learning = trainer.model.training
        # Checkpoints are compared on equal draws.
        first = (recipe.seed * 1_000_003 + (trainer.state.global_step if learning else 0)) * 10_000
        rolled = roller.roll([by_id[name] for name in prompts], range(first, first + len(prompts)))
        gap = mean_gap(trainee.model, rolled[:_GAP_OF])
        trainer._metrics["train" if learning else "eval"]["sampling/logprob_gap"].append(gap)
        return fields_of(rolled, [reward_of(one, recipe, by_id.values()) for one in rolled])

    trainer = GRPOTrainer(
        model=trainee.model,
        args=config,
        reward_funcs=[_term(name) for name in TERMS],
        train_dataset=Dataset.from_dict({"prompt": [i.instance_id for i in instances]}).shuffle(seed=recipe.seed),
        eval_dataset=Dataset.from_dict({"prompt": [i.instance_id for i in validation]}) if validation else None,
        processing_class=trainee.tokenizer,
        rollout_func=rollout,
        callbacks=[watch.callback(out, say)],
    )
    return watch.run(trainer, out)


def reward_of(rolled: Rolled, recipe: Recipe, instances: Any) -> Terms:
    """The reward of one episode, by the recipe.

    Raises:
        UserError: a verdict that it needs could not be had.
    """
    settings = recipe.grpo
    if settings.reward == "bits":
        siblings = [i for i in instances if i.orbit and i.orbit == rolled.instance.orbit] or [rolled.instance]
        grade = next((v for v in rolled.verdicts if isinstance(v, AnswerVerdict)), None)
        right = grade is not None and grade.outcome == str(Outcome.INTENDED)
        return bits_terms(right, bits(rolled.episode.asks, rolled.instance, siblings), len(siblings))
    found = scored(rolled.episode, rolled.verdicts, rolled.instance, settings.targeting)
    if found is None:
        raise UserError(f"a rollout of {rolled.instance.instance_id} could not be scored; train with roles that can")
    return found


def fields_of(rolled: Sequence[Rolled], rewards: Sequence[Terms]) -> dict[str, Any]:
    """What TRL wants of rollouts, checked: ids, mask and log probabilities of each completion are equally long.

    Raises:
        ValueError: lengths that differ, or a completion in which the model wrote nothing.
    """
    fields: dict[str, Any] = {"prompt_ids": [], "completion_ids": [], "env_mask": [], "logprobs": []}
    for one in rolled:
        at = one.prompt_length
        ids, mask, chances = list(one.row.ids[at:]), list(one.row.mask[at:]), list(one.logprobs[at:])
        if not len(ids) == len(mask) == len(chances):
            raise ValueError(f"{len(ids)} tokens, a mask of {len(mask)}, {len(chances)} log probabilities")
        if 1 not in mask:
            raise ValueError("a completion in which the model wrote nothing")
        fields["prompt_ids"].append(list(one.row.ids[:at]))
        fields["completion_ids"].append(ids)
        fields["env_mask"].append(mask)
        fields["logprobs"].append(chances)
    return fields | {name: [getattr(terms, name) for terms in rewards] for name in TERMS}


def _term(name: str) -> Callable[..., list[float | None]]:
    def term(completions: Sequence[Any], **given: Any) -> list[float | None]:
        values: list[float | None] = given[name]
        return values

    term.__name__ = name
    return term


def mean_gap(model: Any, rolled: Sequence[Rolled]) -> float:
    """Mean absolute difference, a token, between the log probabilities at drawing time and the trainer's own."""
    import torch

    gaps: list[float] = []
    training = model.training
    model.eval()
    device = next(model.parameters()).device
    with torch.no_grad():
        for one in rolled:
            ids = torch.tensor([one.row.ids], device=device)
            logits = model(ids).logits[0, :-1].float()
            chances = torch.log_softmax(logits, -1).gather(-1, ids[0, 1:, None])[:, 0].cpu()
            own = torch.tensor(one.row.mask[1:], dtype=torch.bool)
            gaps += (chances - torch.tensor(one.logprobs[1:]))[own].abs().tolist()
    model.train(training)
    return sum(gaps) / len(gaps)

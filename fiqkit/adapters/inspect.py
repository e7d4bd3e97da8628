"""The benchmark as a task of Inspect (UK AI Security Institute): the same environment, simulator, grader and judge.

    pip install "fiqkit[inspect]"
    inspect eval fiqkit/clarify --model openai/gpt-4o -T mode=interact
    inspect eval fiqkit/clarify --model vllm/Qwen3-4B -T mode=search -T retrieval=own --limit 20

A sample is an instance; its id is the instance's, its epoch the sample (`--epochs 3` draws three). The model under test
is Inspect's, with Inspect's own settings, retries, limits and log; everything else is this kit's. Scores are this kit's
measures of one episode (`scores.MEASURED`), so their means are the numbers of `fiqkit report`; what a measure is not
defined on has no score there. An episode that an engine's fault ended is an error of its sample, never a wrong answer.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from fiqkit.adapters.scores import MEASURED, given, measured
from fiqkit.agent.environment import Environment
from fiqkit.agent.modes import Mode
from fiqkit.agent.modes import mode as mode_named
from fiqkit.agent.policy import EngineAgent, play
from fiqkit.agent.world import World
from fiqkit.bench_data import INSTANCES
from fiqkit.datasets import instance_row, parse_instance, read_instances
from fiqkit.models.engine import Capabilities, Completion, ContextOverflow, EngineError, Message, Request
from fiqkit.records import Ending, Episode, Turn
from fiqkit.roles import open_grader, open_judge, open_simulator
from fiqkit.roles.assess import Assessor
from fiqkit.run.lineup import Lineup
from fiqkit.run.stage import Sources, Stage

EPISODE = "fiqkit_episode"  # where a sample's store keeps the episode
_CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@task
def clarify(
    mode: str = "interact",
    retrieval: str | None = None,
    instances: str | None = None,
    passages: str | None = None,
    index: str | None = None,
    simulator: str = "rules",
    grader: str = "rules",
    judge: str = "rules",
    turns: int = 12,
    questions: int = 6,
    seed: int = 0,
) -> Task:
    """Ambiguous financial questions: does the model ask, and does it reach the number that was meant?

    Args:
        mode, retrieval, instances, passages, index, turns, questions, seed: as of `fiqkit run`.
        simulator, grader, judge: a kind by rules, or `llm` for the model that Inspect has for the role
            (`--model-role grader=openai/gpt-4o`).

    Raises:
        UserError: no such mode or role, or no passages for what a search returns.
    """
    chosen = mode_named(mode)
    everything = read_instances(Path(instances) if instances else INSTANCES)
    sources = Sources(*(Path(path) if path else None for path in (instances, passages, index)))
    lineup = Lineup(modes=(mode,), retrieval=retrieval, turns=turns, questions=questions)
    stage = Stage(lineup, [chosen], everything, everything, sources, seed)
    samples = [
        Sample(i.question, target=i.answer, id=i.instance_id, metadata={"instance": instance_row(i)})
        for i in everything
    ]
    return Task(
        dataset=MemoryDataset(samples, name=Path(instances).stem if instances else "fiqkit"),
        solver=played(chosen, stage, simulator, seed),
        scorer=assessed(grader, judge, seed),
        config=GenerateConfig(temperature=0.0, max_tokens=lineup.max_tokens),
        fail_on_error=False,
        version=1,
    )


@solver
def played(mode: Mode, stage: Stage, simulator: str = "rules", seed: int = 0) -> Solver:
    """Plays the sample's episode in a mode of this kit; it is kept in the sample's store."""
    worlds: list[World] = []

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if not worlds:  # a role's model can be had only while a task runs
            worlds.append(stage.world(open_simulator(simulator, _role("simulator", simulator), seed)))
        engine = InspectEngine(get_model())
        agent = EngineAgent(engine.name, engine, seed=seed)
        instance = parse_instance(state.metadata["instance"], str(state.sample_id))
        environment = Environment(instance, mode, worlds[0], state.epoch - 1)
        episode = await play(agent, environment)
        if engine.limit is not None:
            raise engine.limit
        state.messages = [_message(message) for message in environment.messages]
        state.output = engine.output or ModelOutput.from_content(engine.name, episode.answer or "")
        state.store.set(EPISODE, asdict(episode))
        if episode.ending in (Ending.ENGINE_ERROR, Ending.BUG):
            raise EngineError(episode.error)
        state.completed = True
        return state

    return solve


@scorer(metrics={name: [mean(), stderr()] for name in MEASURED})
def assessed(grader: str = "rules", judge: str = "rules", seed: int = 0) -> Scorer:
    """Grades the answer and judges every question of the episode that was played."""
    assessors: list[Assessor] = []

    async def score(state: TaskState, target: Target) -> Score:
        kept = state.store.get(EPISODE)
        if kept is None:
            return Score.unscored(explanation="the episode did not come to its end")
        if not assessors:
            assessors.append(
                Assessor(
                    open_grader(grader, _role("grader", grader), seed), open_judge(judge, _role("judge", judge), seed)
                )
            )
        instance = parse_instance(state.metadata["instance"], str(state.sample_id))
        episode = _read(kept)
        verdicts = await assessors[0](episode, instance)
        return Score(
            value=dict(measured(episode, instance, verdicts)),
            answer=episode.answer,
            explanation=given(verdicts),
            metadata={"ending": str(episode.ending), "verdicts": [asdict(verdict) for verdict in verdicts]},
        )

    return score


def _role(role: str, setting: str) -> InspectEngine | None:
    """The model of a role that is not played by rules."""
    return InspectEngine(get_model(role=role)) if setting in ("llm", "cascade") else None


def _message(message: Message) -> ChatMessage:
    made: ChatMessage = _CHAT[message["role"]](content=message["content"])
    return made


def _read(kept: dict[str, Any]) -> Episode:
    """The episode that a sample's store keeps."""
    turns = tuple(Turn(**{**turn, "prompt_ids": (), "output_ids": ()}) for turn in kept["turns"])
    listed = {name: tuple(kept[name]) for name in ("opening", "flags")}
    return replace(Episode(**{**kept, **listed, "turns": turns}), ending=Ending(kept["ending"]))


class InspectEngine:
    """Inspect's model as an engine of this kit. Its settings (temperature, length, retries) are Inspect's.

    Attributes:
        output: what the model gave last. limit: the limit of Inspect that a call ran into, which ends the sample.
    """

    context = 1 << 30  # Inspect's model says when a prompt does not fit
    can = Capabilities(counts_prompt=None, parallel=1 << 16)

    def __init__(self, model: Model) -> None:
        self.name = str(model)
        self.output: ModelOutput | None = None
        self.limit: LimitExceededError | None = None
        self._model = model

    async def ready(self) -> tuple[str, ...]:
        """Nothing to ask."""
        return ()

    async def complete(self, request: Request) -> Completion:
        """One generation of Inspect's model.

        Raises:
            ContextOverflow: the prompt does not fit.
            EngineError: the model failed for good, Inspect's retries included, or a limit of Inspect was reached.
        """
        try:
            output = await self._model.generate([_message(message) for message in request.messages or ()])
        except LimitExceededError as error:
            self.limit = error
            raise EngineError(str(error)) from error
        except Exception as error:  # whatever a provider raises
            raise EngineError(f"{type(error).__name__}: {error}") from error
        self.output = output
        if output.stop_reason == "model_length" and not output.completion:
            raise ContextOverflow(f"{self.name}: the prompt does not fit")
        if output.error:
            raise EngineError(output.error)
        usage = output.usage
        content = output.message.content
        parts = content if isinstance(content, list) else []
        return Completion(
            text=output.completion,
            finish="length" if output.stop_reason in ("max_tokens", "model_length") else "stop",
            reasoning="\n".join(part.reasoning for part in parts if part.type == "reasoning"),
            prompt_tokens=usage.input_tokens + (usage.input_tokens_cache_read or 0) if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            seconds=output.time or 0.0,
        )

    async def close(self) -> None:
        """Inspect closes its models."""

    def describe(self) -> dict[str, Any]:
        """The model by Inspect's name."""
        return {"engine": "inspect", "name": self.name}

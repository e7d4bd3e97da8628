"""The environment: the state of one episode, and the only thing that an agent can act on.

It knows the mode's rules and the budgets, refuses what the mode forbids, keeps everything in full, and ends with
exactly one `Ending`. Evaluation, training and steering all roll out this class, so that they cannot differ in what an
agent sees.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from fiqkit.agent.actions import Action, ParseFault, parse, split_reasoning
from fiqkit.agent.modes import Mode
from fiqkit.agent.prompts import Prompts
from fiqkit.errors import UserError
from fiqkit.models.engine import Completion, ContextOverflow, EngineError, Message
from fiqkit.records import Ending, Episode, Instance, Passage, Turn
from fiqkit.roles.interfaces import Simulator, UserView
from fiqkit.taxonomy import CATEGORIES

Search = Callable[[str, str], Awaitable[list[str]]]  # (query, language) → texts of the hits, best first


@dataclass(frozen=True, slots=True)
class Budget:
    """What one episode may use. A turn is one completion of the agent, a refused action or a repair included."""

    turns: int = 12
    questions: int = 6


@dataclass(frozen=True, slots=True)
class World:
    """What is the same for all episodes of a run.

    Attributes:
        search: the index; None where no mode searches.
        own_passage: instance → its passage, for the oracle-retrieval mode.
        result_tokens: a search result holds whole hits up to about this many tokens (at least one hit).
    """

    simulator: Simulator
    search: Search | None = None
    own_passage: Callable[[Instance], Passage] | None = None
    budget: Budget = Budget()
    result_tokens: int = 1000
    seed: int = 0


class Environment:
    """One episode. `messages` only ever grows, so that an engine's prefix cache keeps hitting."""

    def __init__(self, instance: Instance, mode: Mode, world: World) -> None:
        """Set the stage; `begin` opens it.

        Raises:
            UserError: the mode searches and there is no index.
        """
        if mode.search and world.search is None and not mode.own_passage:
            raise UserError(f"mode {mode.name!r} searches, and there is no index; build one and name it with --index")
        self.instance = instance
        self.mode = mode
        self.world = world
        self.prompts = Prompts.of(instance.language)
        self.messages: list[Message] = []
        self.turns: list[Turn] = []
        self.ending: Ending | None = None
        self.error: str | None = None
        self.answer: str | None = None
        self.confidence: float | None = None
        self.asked = 0
        self._view = UserView.of(instance)
        self._flags: list[str] = []
        self._extra: dict[str, Any] = {}
        self._repairing = False
        self._opening = 0
        self._started = time.perf_counter()
        # A mode that forces N questions must leave room for them.
        self.max_questions = mode.max_asks or max(world.budget.questions, mode.min_asks)
        extra_turns = max(0, mode.min_asks - world.budget.questions)
        self.max_turns = max(world.budget.turns + extra_turns, mode.min_asks + 1)

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.ending is not None

    @property
    def allowed(self) -> tuple[str, ...]:
        """The actions worth offering for the next turn: on the last one there is only time to answer."""
        if len(self.turns) + 1 >= self.max_turns:
            return ("answer",)
        if self.asked >= self.max_questions:
            return tuple(name for name in self.mode.actions if name != "interact")
        return self.mode.actions

    async def begin(self) -> None:
        """Write the opening messages."""
        given = [await self._give(item) for item in self.mode.gives]
        self.messages = [
            {"role": "system", "content": self.prompts.system(self.mode)},
            {"role": "user", "content": self.prompts.opening(self.instance.question, given)},
        ]
        self._opening = len(self.messages)

    async def step(self, reply: Completion) -> None:
        """Take one completion of the agent: execute, refuse or mend its action, and write the observation."""
        cut_by_length = reply.finish == "length"
        reasoning, text, cut = split_reasoning(reply.text)
        reasoning = f"{reply.reasoning}\n{reasoning}".strip() if reply.reasoning else reasoning
        # Earlier reasoning is not sent back: templates drop it anyway, and it would cost context.
        self.messages.append({"role": "assistant", "content": text.strip()})
        name, content, observation, refused = "invalid", {}, "", None
        if cut or cut_by_length:
            self.ending = Ending.TRUNCATED
        else:
            try:
                action = parse(text)
            except ParseFault as fault:
                observation = self._mend(fault)
            else:
                self._repairing = False
                name, content = action.name, dict(action.content)
                refused = self._refusal(action)
                observation = refused or await self._execute(action)
        if not self.ending and len(self.turns) + 1 >= self.max_turns:
            self.ending = Ending.BUDGET
        if not self.done:
            if len(self.turns) + 2 >= self.max_turns:
                observation = f"{observation}\n\n{self.prompts.text('last_turn')}"
            self.messages.append({"role": "user", "content": observation})
        self.turns.append(
            Turn(
                action=name,
                content=content,
                text=text,
                reasoning=reasoning,
                observation=observation,
                refused=refused,
                prompt_tokens=reply.prompt_tokens,
                output_tokens=reply.output_tokens,
                seconds=reply.seconds,
            )
        )

    def fail(self, error: EngineError) -> None:
        """End the episode because an engine failed or the context is full. Nothing was cut, nothing is graded."""
        self.ending = Ending.CONTEXT_OVERFLOW if isinstance(error, ContextOverflow) else Ending.ENGINE_ERROR
        self.error = str(error) or type(error).__name__

    def episode(self, model: str) -> Episode:
        """The finished episode as a record."""
        if self.ending is None:
            raise RuntimeError("the episode has not ended")
        return Episode(
            instance_id=self.instance.instance_id,
            model=model,
            mode=self.mode.name,
            ending=self.ending,
            answer=self.answer,
            confidence=self.confidence,
            turns=tuple(self.turns),
            opening=tuple(self.messages[: self._opening]),
            flags=tuple(self._flags),
            error=self.error,
            seconds=time.perf_counter() - self._started,
            extra=self._extra,
        )

    # --- what happens on a turn -------------------------------------------------------------------------------------

    def _mend(self, fault: ParseFault) -> str:
        if self._repairing:
            self.ending = Ending.PARSE_FAILURE
            return ""
        self._repairing = True
        self._flags.append("repaired")
        return self.prompts.text("repair", fault=str(fault), actions=", ".join(self.allowed))

    def _refusal(self, action: Action) -> str | None:
        """Why the mode or a budget refuses this action, or None."""
        if action.name not in self.mode.actions:
            return self.prompts.text("refused_mode", action=action.name, actions=", ".join(self.mode.actions))
        if action.name == "interact" and self.asked >= self.max_questions:
            return self.prompts.text("refused_questions", limit=str(self.max_questions))
        if action.name == "answer" and self.asked < self.mode.min_asks and not self.mode.early_answer_ends:
            return self.prompts.text("refused_early", needed=str(self.mode.min_asks))
        return None

    async def _execute(self, action: Action) -> str:
        observation: str = await getattr(self, f"_{action.name}")(**action.content)
        return observation

    async def _search(self, query: str) -> str:
        hits = [self._own_passage()] if self.mode.own_passage else await self._look_up(query)
        shown: list[str] = []
        room = self.world.result_tokens
        for hit in hits:
            room -= _rough_tokens(hit)
            if shown and room < 0:
                break
            shown.append(hit)
        if not shown:
            return self.prompts.text("no_results")
        return self.prompts.text("results", passages="\n\n".join(f"[{n}] {hit}" for n, hit in enumerate(shown, 1)))

    async def _look_up(self, query: str) -> list[str]:
        assert self.world.search is not None  # refused in __init__
        return await self.world.search(query, self.instance.language)

    def _own_passage(self) -> str:
        if self.world.own_passage is None:
            raise UserError(f"mode {self.mode.name!r} needs each instance's own passage; name them with --passages")
        passage = self.world.own_passage(self.instance)
        return f"{passage.text}\n{self._both_spans()}"

    async def _interact(self, question: str) -> str:
        try:
            reply = await self.world.simulator.reply(question, self._view)
        except EngineError as error:
            self.fail(error)
            return ""
        self.asked += 1
        return self.prompts.text("reply", reply=self.prompts.reply(reply))

    async def _answer(self, response: str, confidence: float | None) -> str:
        self.answer, self.confidence = response, confidence
        self.ending = Ending.EARLY_ANSWER if self.asked < self.mode.min_asks else Ending.ANSWERED
        return ""

    # --- what the opening hands over --------------------------------------------------------------------------------

    async def _give(self, item: str) -> str:
        if item == "template":
            return await self._ask_template()
        values: Mapping[str, Callable[[], str]] = {
            "context": lambda: self.instance.context,
            "spans": self._both_spans,
            "category": lambda: CATEGORIES[self.instance.primary].title[self.instance.language],
        }
        return self.prompts.text(f"give_{item}", **{item: values[item]()})

    async def _ask_template(self) -> str:
        """The primary category's fixed question is asked for the agent, and counts as its one question."""
        question = CATEGORIES[self.instance.primary].template[self.instance.language]
        reply = await self.world.simulator.reply(question, self._view)
        self._extra |= {"n_asks": 1, "template_question": question, "template_reply": reply}
        return self.prompts.text("give_template", question=question, reply=self.prompts.reply(reply))

    def _both_spans(self) -> str:
        """Both evidence spans, in an order drawn from the seed and the instance, so that position tells nothing."""
        spans = [self.instance.intended_evidence_span, self.instance.default_evidence_span]
        Random(f"{self.world.seed}:{self.instance.instance_id}").shuffle(spans)
        head = " · ".join(v for v in (self.instance.company, self.instance.filing_type) if v)
        return "\n".join([head, *spans] if head else spans)


def _rough_tokens(text: str) -> int:
    """About how many tokens a text has, without a tokenizer: one for a CJK character, one for four others."""
    wide = (len(text.encode()) - len(text)) // 2  # a CJK character is three bytes
    return wide + (len(text) - wide) // 4

"""The environment: the state of one episode, and the only thing that an agent can act on.

It knows the mode's rules and the budgets, refuses what the mode forbids, keeps everything in full, and ends with
exactly one `Ending`. Evaluation, training and steering all roll out this class, so that they cannot differ in what an
agent sees.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fiqkit.agent.actions import Action, ParseFault, parse, parse_confidence, schema
from fiqkit.agent.dialogue import Dialogue
from fiqkit.agent.hearing import hear, traced
from fiqkit.agent.modes import Mode
from fiqkit.agent.prompt_counts import cut_prompts
from fiqkit.agent.prompts import Prompts
from fiqkit.agent.questions import settling_question
from fiqkit.agent.structure import is_stated, open_fields
from fiqkit.agent.world import World
from fiqkit.datasets import record_hash
from fiqkit.models.engine import Completion, ContextOverflow, EngineError, Message
from fiqkit.models.reasoning import split
from fiqkit.records import Ending, Episode, Instance, Turn
from fiqkit.roles.interfaces import UserView
from fiqkit.taxonomy import CATEGORIES

BY_ENVIRONMENT = "environment"  # who asked a question that the agent did not ask, in the `asked_by` of its turn


class Effect(NamedTuple):
    """What became of one reply: the action that it held, what the agent is told, why the action was refused."""

    action: str
    content: Mapping[str, Any]
    observation: str = ""
    refused: str | None = None


class Environment:
    """One episode. `messages` only ever grows, so that an engine's prefix cache keeps hitting.

    A policy is given `dialogue`, never this object: it holds the instance.
    """

    def __init__(self, instance: Instance, mode: Mode, world: World, sample: int = 0, item: str | None = None) -> None:
        """Set the stage; `begin` opens it, `replay` takes a stored episode up again.

        Args:
            sample: which of the repeated draws this is; the user's draws differ between samples.
            item: hash of the instance's record where it is at hand already.

        Raises:
            UserError: the world lacks what the mode needs.
        """
        world.check(mode, instance)
        self.mode = mode
        self.world = world
        self.sample = sample
        self.prompts = Prompts.of(world.prompt_language or instance.language, world.prompts)
        self.messages: list[Message] = []
        self.turns: list[Turn] = []
        self.ending: Ending | None = None
        self.error: str | None = None
        self.answer: str | None = None
        self.confidence: float | None = None
        self.asked = 0  # questions that the agent has put to the user
        self._completions = 0  # turns that count against the budget
        self._actions = mode.actions
        self._item = item
        self._instance = instance
        self._view = UserView.of(instance, str(sample or ""))
        self._opening = 0
        self._awaits_confidence = False
        self._fork: dict[str, Any] = {}
        self._odd: dict[str, None] = {}  # what engines said is odd about their completions, each once
        self._started = time.perf_counter()
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        # A mode that forces N questions must leave room for them.
        self.max_questions = mode.max_asks or max(world.budget.questions, mode.min_asks)
        extra_turns = max(0, mode.min_asks - world.budget.questions)
        self.max_turns = max(world.budget.turns + extra_turns, mode.min_asks + 1)

    @property
    def instance_id(self) -> str:
        """The id of the instance, under which a reference policy finds its key."""
        return self._instance.instance_id

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.ending is not None and not self._awaits_confidence

    @property
    def allowed(self) -> tuple[str, ...]:
        """The actions worth offering for the next turn: on the last one there is only time to answer."""
        if self._awaits_confidence:
            return ("confidence",)
        if self._completions + 1 >= self.max_turns:
            return ("answer",)
        if self._owes_state:
            return ("state",)
        if self.asked < self.max_questions and not self._gate:
            return self._actions
        barred = "answer" if self._gate else "interact"  # a gate is shut only while a question may be asked
        return tuple(name for name in self._actions if name != barred)

    def dialogue(self) -> Dialogue:
        """What the policy is given for the next turn."""
        structure, offered = self.mode.structure, self.allowed
        return Dialogue(
            messages=tuple(self.messages),
            actions=offered,
            schema=schema(offered, structure.fields if structure else (), post_hoc=self._post_hoc),
            turn=self._completions,
            language=self._instance.language,
            asked=tuple((t.content["question"], t.content["reply"]) for t in self._questions()),
            owed=max(0, self.mode.min_asks - self.asked),
            unknown=self._unknown_after(),
        )

    async def begin(self) -> None:
        """Write the opening messages.

        Raises:
            EngineError: the user did not reply to a question that the mode asks for the agent.
        """
        given = [await self._give(item) for item in self.mode.gives]
        system = self.prompts.system(self.mode, post_hoc=self._post_hoc)
        opening = self.prompts.opening(self._instance.question, given)
        self._open([{"role": "system", "content": system}, {"role": "user", "content": opening}])

    def replay(self, episode: Episode, turn: int, parent: str | None = None) -> None:
        """Take up a stored episode as it was before the agent's completion number `turn`, counted from 0.

        Nothing is asked, searched or drawn again: what was said is taken from the episode, so that the messages equal
        those the agent was sent.

        Args:
            parent: what the fork's record will name as its parent.

        Raises:
            ValueError: another instance, mode or retrieval, or the episode has no such turn.
        """
        theirs = (episode.instance_id, episode.item, episode.mode, episode.retrieval)
        mine = (self.instance_id, self._record_hash, self.mode.name, self.world.retrieval_of(self.mode))
        if theirs != mine:
            raise ValueError(f"an episode of {theirs} cannot be taken up in an environment of {mine}")
        given = sum(not _by_agent(t) for t in episode.turns)
        if not 0 <= turn <= len(episode.turns) - given:
            raise ValueError(f"the episode has {len(episode.turns) - given} turns; it cannot be taken up at {turn}")
        for asked in episode.turns[:given]:
            self._note(asked)
        self._open(episode.opening)
        for earlier in episode.turns[given : given + turn]:
            if earlier.action == "answer" and earlier.refused is None:
                self._commit(**earlier.content)
            self._record(earlier)
        if turn == len(episode.turns) - given:
            self.ending, self.answer, self.confidence = episode.ending, episode.answer, episode.confidence
            self.error, self._awaits_confidence = episode.error, False
        self._odd = dict.fromkeys(flag for flag in episode.flags if flag != "repaired")
        self._fork = {"parent": parent, "fork_turn": turn}

    async def step(self, reply: Completion) -> str:
        """Take one completion of the agent: execute, refuse or mend its action.

        Returns:
            The observation, which is what the agent is told next; empty once the episode has ended.
        """
        self._odd |= dict.fromkeys(reply.flags)
        reasoning, text, cut = split(reply.text)
        cut = cut or reply.finish == "length"
        effect = Effect("invalid", {})
        if self._awaits_confidence:
            self._awaits_confidence = False
            self.confidence = None if cut else parse_confidence(text)
            effect = Effect("confidence", {"confidence": self.confidence})
        elif cut:
            self.ending = Ending.TRUNCATED
        else:
            effect = await self._act(text)
        if not self.ending and self._completions + 1 >= self.max_turns:
            self.ending = Ending.BUDGET
        last = not self.ending and self._completions + 2 >= self.max_turns
        self._record(
            Turn(
                action=effect.action,
                content=effect.content,
                text=text,
                reasoning=f"{reply.reasoning}\n{reasoning}".strip() if reply.reasoning else reasoning,
                observation=f"{effect.observation}\n\n{self.prompts.text('last_turn')}" if last else effect.observation,
                refused=effect.refused,
                prompt_tokens=reply.prompt_tokens,
                output_tokens=reply.output_tokens,
                seconds=reply.seconds,
                prompt_ids=tuple(reply.prompt_ids),
                output_ids=tuple(reply.output_ids),
            )
        )
        return "" if self.done else self.turns[-1].observation

    def fail(self, error: EngineError) -> None:
        """End the episode because an engine failed or the context is full. Nothing was cut, nothing is graded.

        An answer that stands already is kept: what failed then was the question for its confidence.
        """
        if self._awaits_confidence:
            self._awaits_confidence = False
        else:
            self.ending = Ending.CONTEXT_OVERFLOW if isinstance(error, ContextOverflow) else Ending.ENGINE_ERROR
        self.error = str(error) or type(error).__name__

    def crash(self, error: Exception) -> None:
        """End the episode because this kit, or a policy, has a fault of its own; its traceback is kept."""
        self.ending, self._awaits_confidence = Ending.BUG, False
        self.error = traced(error)

    def episode(self, model: str) -> Episode:
        """The finished episode as a record."""
        if not self.done or self.ending is None:
            raise RuntimeError("the episode has not ended")
        others = len(self.turns) - self._completions
        return Episode(
            instance_id=self.instance_id,
            model=model,
            mode=self.mode.name,
            ending=self.ending,
            answer=self.answer,
            confidence=self.confidence,
            turns=tuple(self.turns),
            opening=tuple(self.messages[: self._opening]),
            flags=("repaired",) * sum(1 for _ in self._repairs()) + tuple(self._odd | cut_prompts(self.turns)),
            error=self.error,
            seconds=time.perf_counter() - self._started,
            item=self._record_hash,
            sample=self.sample,
            retrieval=self.world.retrieval_of(self.mode),
            started_at=self._started_at,
            extra={"n_turns": self._completions} if others else {},
            **self._fork,
        )

    # --- the state, read from the turns -----------------------------------------------------------------------------

    def _questions(self) -> Iterator[Turn]:
        return filter(_reached_the_user, self.turns)

    def _repairs(self) -> Iterator[Turn]:
        """The replies that could not be read and were given another try."""
        return (turn for turn in self.turns if turn.action == "invalid" and turn.observation)

    @property
    def _record_hash(self) -> str:
        return self._item or record_hash(self._instance)

    @property
    def _post_hoc(self) -> bool:
        return self.world.confidence == "post-hoc"

    def _unknown_after(self, *turns: Turn) -> tuple[str, ...]:
        """The fields of the state that are open once these turns are over too."""
        return open_fields(self.mode.structure, [*self.turns, *turns]) if self.mode.structure else ()

    @property
    def _owes_state(self) -> bool:
        return bool(self.mode.structure and self.mode.structure.precheck and not is_stated(self.turns))

    @property
    def _gate(self) -> bool:
        """Whether the gate is shut: something is unknown, and there is a question left to ask about it."""
        structure = self.mode.structure
        shut = structure is not None and structure.gate and self.asked < self.max_questions
        return shut and self._completions + 1 < self.max_turns and bool(self._unknown_after())

    def _open(self, messages: Any) -> None:
        self.messages = list(messages)
        self._opening = len(self.messages)

    def _note(self, turn: Turn) -> None:
        self.turns.append(turn)
        if _by_agent(turn):
            self._completions += turn.action != "confidence"
            self.asked += _reached_the_user(turn)

    def _record(self, turn: Turn) -> None:
        # Earlier reasoning is not sent back: templates drop it anyway, and it would cost context.
        self._note(turn)
        self.messages.append({"role": "assistant", "content": turn.text.strip()})
        if turn.observation:
            self.messages.append({"role": "user", "content": turn.observation})

    # --- what happens on a turn -------------------------------------------------------------------------------------

    async def _act(self, text: str) -> Effect:
        """Read an action and execute it, refuse it, or send it back to be mended."""
        try:
            action = parse(text, self._actions)
        except ParseFault as fault:
            return Effect("invalid", {}, self._mend(fault))
        refused = self._refusal(action)
        if refused is not None:
            return Effect(action.name, action.content, refused, refused)
        if action.name == "interact":
            return await self._interact(action.content["question"])
        return Effect(action.name, action.content, await self._observation(action))

    async def _hear(self, question: str) -> str:
        return await hear(self.world.simulator, question, self._view, self._instance)

    async def _interact(self, question: str) -> Effect:
        try:
            reply = await self._hear(question)
        except EngineError as error:
            self.fail(error)
            return Effect("interact", {"question": question})
        said = self.prompts.text("reply", reply=self.prompts.reply(reply))
        return Effect("interact", {"question": question, "reply": reply}, said)

    def _mend(self, fault: ParseFault) -> str:
        if self.turns and self.turns[-1].action == "invalid":
            self.ending = Ending.PARSE_FAILURE
            return ""
        return self.prompts.text("repair", fault=str(fault), actions=", ".join(self.allowed))

    def _refusal(self, action: Action) -> str | None:
        """Why the mode, a budget or the gate refuses this action, or None."""
        if action.name not in self._actions:
            return self.prompts.text("refused_mode", action=action.name, actions=", ".join(self._actions))
        if self._owes_state and action.name != "state":
            return self.prompts.text("refused_precheck")
        if action.name == "interact" and self.asked >= self.max_questions:
            return self.prompts.text("refused_questions", limit=str(self.max_questions))
        if action.name == "answer" and self.asked < self.mode.min_asks and not self.mode.early_answer_ends:
            return self.prompts.text("refused_early", needed=str(self.mode.min_asks))
        if action.name == "answer" and self._gate:
            return self.prompts.text("refused_gate", unknown=", ".join(self._unknown_after()))
        return None

    async def _observation(self, action: Action) -> str:
        """What an accepted action brings, a question to the user left aside."""
        match action.name:
            case "search":
                hits = await self.world.found(action.content["query"], self._instance, self.mode)
                listed = "\n\n".join(f"[{n}] {hit}" for n, hit in enumerate(hits, 1))
                return self.prompts.text("results", passages=listed) if hits else self.prompts.text("no_results")
            case "state":
                unknown = ", ".join(self._unknown_after(Turn("state", action.content)))
                return self.prompts.text("state_open", unknown=unknown) if unknown else self.prompts.text("state_clear")
            case _:
                self._commit(**action.content)
                return self.prompts.text("ask_confidence") if self._awaits_confidence else ""

    def _commit(self, response: str, confidence: float | None) -> None:
        self.answer, self.confidence = response, None if self._post_hoc else confidence
        self.ending = Ending.EARLY_ANSWER if self.asked < self.mode.min_asks else Ending.ANSWERED
        self._awaits_confidence = self._post_hoc and self.ending == Ending.ANSWERED

    # --- what the opening hands over --------------------------------------------------------------------------------

    async def _give(self, item: str) -> str:
        instance, language = self._instance, self.prompts.language
        match item:
            case "template":
                return await self._ask_template()
            case "context":
                return self.prompts.text("give_context", context=instance.context)
            case "spans":
                return self.prompts.text("give_spans", spans=self.world.spans(instance))
            case _:
                category = CATEGORIES[instance.primary]
                given = {"category": category.title[language], "definition": category.definition[language]}
                return self.prompts.text("give_category", **given)

    async def _ask_template(self) -> str:
        """A question that settles the two readings is asked for the agent: the episode's one question, on record."""
        question = settling_question(self._instance)
        reply = await self._hear(question)
        self._note(Turn("interact", {"question": question, "reply": reply, "asked_by": BY_ENVIRONMENT}))
        return self.prompts.text("give_template", question=question, reply=self.prompts.reply(reply))


def _by_agent(turn: Turn) -> bool:
    return turn.content.get("asked_by") != BY_ENVIRONMENT


def _reached_the_user(turn: Turn) -> bool:
    return turn.action == "interact" and "reply" in turn.content

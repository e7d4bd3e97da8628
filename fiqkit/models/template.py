"""A model's own chat template, rendered as its publisher's tokenizer would: once, and complained of in one line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, date, datetime, time
from typing import Any, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Message
from fiqkit.models.messages import sendable
from fiqkit.models.reasoning import can_open, is_closed, opener

# The variables by which templates of hybrid reasoning models turn thinking on and off. Which one a template listens to
# is found by trying them.
_SWITCHES: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = (
    ({"enable_thinking": True}, {"enable_thinking": False}),
    ({"thinking": True}, {"thinking": False}),  # Granite, Kimi
    ({"thinking_mode": "enabled"}, {"thinking_mode": "disabled"}),  # MiniMax
    ({"thinking_budget": -1}, {"thinking_budget": 0}),  # Seed-OSS
    ({"reasoning_effort": "high"}, {"reasoning_effort": "no_think"}),  # Hunyuan
    ({"reasoning": True}, {"reasoning": False}),  # Command
)
_TRIAL: Sequence[Message] = ({"role": "system", "content": "Trial-7719."}, {"role": "user", "content": "Trial-5521?"})

# The day that templates write into prompts: that of the run's start, so that a run resumed on the next day has the same
# prompts. Set once by whoever runs; today where nobody does.
RUN_DATE: ContextVar[date | None] = ContextVar("RUN_DATE", default=None)


class _GenerationMarks(Extension):
    """`{% generation %}` marks what a trainer learns from; rendering passes it through."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 reads the class attribute)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements between the marks."""
        parser.stream.skip(1)
        body: list[nodes.Node] = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return body


class ChatTemplate:
    """One compiled template.

    Args:
        switch: the variables that turn thinking on, and off; found by trying where none are given.

    Attributes:
        folds: it has no place for a system message, which therefore begins the first user message.
        switch: as the argument; None where the template cannot turn thinking on and off.
        can_think: it knows of thinking at all.

    Raises:
        UserError: the model has no template, or one that does not compile.
    """

    def __init__(
        self, name: str, source: str | None, specials: Mapping[str, str], switch: Mapping[str, Any] | None = None
    ) -> None:
        if not source:
            raise UserError(f"{name}: the model has no chat template; use its instruct version")
        self.name = name
        self.source = source
        self._specials = dict(specials)
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationMarks, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.combine(_today(), time()).strftime(form)
        try:
            self._compiled = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise UserError(f"{name}: its chat template does not compile: {error}") from None
        self.folds = self._loses_system()
        self.switch = (switch["on"], switch["off"]) if switch else self._find_switch()
        self.can_think = self.switch is not None or can_open(source)

    def like(self, source: str | None) -> ChatTemplate:
        """Another template of the same model; this one where there is none, or the same."""
        return self if source in (None, self.source) else ChatTemplate(self.name, source, self._specials)

    def _loses_system(self) -> bool:
        """Whether it refuses a system message, or leaves its text out, and takes the text in a user message."""
        kept = (self._tried(sendable(_TRIAL, fold=fold)) for fold in (False, True))
        plain, folded = ("Trial-7719" in (text or "") for text in kept)
        return folded and not plain

    def _find_switch(self) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        chat = sendable(_TRIAL, fold=self.folds)
        for on, off in _SWITCHES:
            if not all(re.search(rf"\b{variable}\b", self.source) for variable in on):
                continue
            thinks, not_ = self._tried(chat, on), self._tried(chat, off)
            plain = "enable_thinking" in on or "thinking" in on
            if thinks and not_ and thinks != not_ and (plain or is_closed(not_) or opener(thinks)):
                return on, off
        return None

    def _tried(self, chat: Sequence[Message], variables: Mapping[str, Any] | None = None) -> str | None:
        try:
            return self._rendered(chat, variables or {})
        except (TemplateError, TypeError, ValueError, KeyError):
            return None

    @property
    def sha256(self) -> str:
        """Digest of the template's source, for the manifest and the completion cache."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @classmethod
    def of_tokenizer(cls, name: str, tokenizer: Any, switch: Mapping[str, Any] | None = None) -> ChatTemplate:
        """The default template of a transformers tokenizer."""
        source = tokenizer.chat_template
        default = source.get("default") if isinstance(source, dict) else source
        return cls(name, default, tokenizer.special_tokens_map, switch)

    @property
    def date(self) -> str | None:
        """The day that its prompts name, as YYYY-MM-DD; None where they name none."""
        return _today().isoformat() if "strftime_now" in self.source else None

    @property
    def switchable(self) -> bool:
        """Whether the template can turn thinking on and off."""
        return self.switch is not None

    def render(self, messages: Sequence[Message], thinking: bool | None = None) -> str:
        """The prompt up to where the assistant's turn begins.

        Raises:
            UserError: the template refuses the messages.
        """
        variables = {} if thinking is None or self.switch is None else self.switch[0 if thinking else 1]
        try:
            return self._rendered(sendable(messages, fold=self.folds), variables)
        except (TemplateError, TypeError) as error:
            raise UserError(f"{self.name}: its chat template refuses the messages: {error}") from None

    def _rendered(self, chat: Sequence[Message], variables: Mapping[str, Any]) -> str:
        messages = [dict(message) for message in chat]
        return self._compiled.render(
            **{"messages": messages, "add_generation_prompt": True, **self._specials, **variables}
        )

    def describe(self) -> dict[str, Any]:
        """What the manifest records of it."""
        return {"template_sha256": self.sha256, "template_date": self.date, "system_role": not self.folds}


def check_thinking(card: Card, thinking: bool | None, switchable: bool) -> None:
    """Refuse a thinking mode that the model cannot be asked for.

    Raises:
        UserError: names the modes there are.
    """
    if thinking is None or switchable:
        return
    if len(card.thinking) == 2:
        raise UserError(
            f"{card.name}: thinking on and off give the model one prompt, its chat template has no switch for it; name "
            "the variables of the template with the setting switch = {on = {…}, off = {…}}, or leave --thinking out"
        )
    able = "on" in card.thinking
    if thinking != able:
        state = "always thinks" if able else "cannot think"
        raise UserError(f"{card.name}: thinking {'on' if thinking else 'off'} was asked of a model that {state}")


def checked_switch(card: Card, switch: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The setting `switch` of a card: {on: {…}, off: {…}}, variables of a template or fields of a request.

    Raises:
        UserError: it has another form.
    """
    if switch is None or (set(switch) == {"on", "off"} and all(isinstance(v, Mapping) for v in switch.values())):
        return switch
    raise UserError(f"{card.name}: the setting switch has the form {{on = {{…}}, off = {{…}}}}, found {switch!r:.80}")


def _today() -> date:
    return RUN_DATE.get() or datetime.now(UTC).date()


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)

"""A model's own chat template, rendered as its publisher's tokenizer would: once, and complained of in one line."""

from __future__ import annotations

import hashlib
import json
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

SWITCH = "enable_thinking"  # the variable by which templates of hybrid reasoning models turn thinking on and off

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

    Raises:
        UserError: the model has no template, or one that does not compile.
    """

    def __init__(self, name: str, source: str | None, specials: Mapping[str, str]) -> None:
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

    @property
    def sha256(self) -> str:
        """Digest of the template's source, for the manifest and the completion cache."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @classmethod
    def of_tokenizer(cls, name: str, tokenizer: Any) -> ChatTemplate:
        """The default template of a transformers tokenizer."""
        source = tokenizer.chat_template
        return cls(name, source.get("default") if isinstance(source, dict) else source, tokenizer.special_tokens_map)

    @property
    def date(self) -> str | None:
        """The day that its prompts name, as YYYY-MM-DD; None where they name none."""
        return _today().isoformat() if "strftime_now" in self.source else None

    @property
    def switchable(self) -> bool:
        """Whether the template can turn thinking on and off."""
        return SWITCH in self.source

    def render(self, messages: Sequence[Message], thinking: bool | None = None) -> str:
        """The prompt up to where the assistant's turn begins.

        Raises:
            UserError: the template refuses the messages (a system role, or roles that do not alternate).
        """
        switch = {} if thinking is None else {SWITCH: thinking}
        try:
            return self._compiled.render(
                messages=[dict(message) for message in messages], add_generation_prompt=True, **self._specials, **switch
            )
        except (TemplateError, TypeError) as error:
            raise UserError(f"{self.name}: its chat template refuses the messages: {error}") from None


def check_thinking(card: Card, thinking: bool | None, switchable: bool) -> None:
    """Refuse a thinking mode that the model cannot be asked for.

    Raises:
        UserError: names the modes there are.
    """
    if thinking is None or switchable or card.thinking == ("on", "off"):
        return
    able = "on" in card.thinking
    if thinking != able:
        state = "always thinks" if able else "cannot think"
        raise UserError(f"{card.name}: thinking {'on' if thinking else 'off'} was asked of a model that {state}")


def _today() -> date:
    return RUN_DATE.get() or datetime.now(UTC).date()


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)

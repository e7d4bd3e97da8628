"""A model's own chat template, rendered as its publisher's tokenizer would: once, and complained of in one line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.engine import Message

SWITCH = "enable_thinking"  # the variable by which templates of hybrid reasoning models turn thinking on and off


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
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        try:
            self._compiled = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise UserError(f"{name}: its chat template does not compile: {error}") from None

    @property
    def sha256(self) -> str:
        """Digest of the template's source, for the manifest and the completion cache."""
        return hashlib.sha256(self.source.encode()).hexdigest()

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


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)

"""Prompts live as files under `prompts/LANGUAGE/`, one text a file, so that they can be read and edited as they are.

`$name` in a file is filled in; everything else, JSON braces included, stands as written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from fiqkit.agent.modes import Mode
from fiqkit.taxonomy import LANGUAGES

FOLDER = Path(__file__).parent / "prompts"


class Prompts:
    """The prompts of one language. Get one with `Prompts.of`."""

    def __init__(self, language: str) -> None:
        self._texts = {path.stem: path.read_text("utf-8").strip() for path in (FOLDER / language).glob("*.md")}
        self._templates = {name: Template(text) for name, text in self._texts.items()}
        self._systems: dict[Mode, str] = {}

    @staticmethod
    @cache
    def of(language: str) -> Prompts:
        """The prompts of a language, read once."""
        return Prompts(language)

    def text(self, name: str, **values: str) -> str:
        """One prompt with its `$names` filled in."""
        return self._templates[name].substitute(values) if values else self._texts[name]

    def system(self, mode: Mode) -> str:
        """The system message of a mode: the task, the actions that exist, and worked turns that use only those."""
        if mode not in self._systems:
            task = "task_enumerate" if mode.enumerate else "task"
            parts = [self._texts[task], self._texts["actions"]]
            parts += [self._texts[f"action_{name}"] for name in mode.actions]
            parts += [self._texts["example"]]
            parts += [self._texts[f"example_{name}"] for name in mode.actions]
            self._systems[mode] = "\n".join(parts)
        return self._systems[mode]

    def opening(self, question: str, given: Sequence[str]) -> str:
        """The first user message: what the mode hands over, then the question."""
        return "\n\n".join([*given, self.text("question", question=question)])

    def reply(self, reply: str) -> str:
        """The user's words for a simulator's reply; a free-form reply stands as it is."""
        return self._texts.get(f"reply_{reply}", reply)


def prompts_hash() -> str:
    """Hash of every prompt file of every language, for a run's manifest."""
    digest = hashlib.sha256()
    for language in LANGUAGES:
        for path in sorted((FOLDER / language).glob("*.md")):
            digest.update(f"{language}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]

"""Prompts live as files under `prompts/LANGUAGE/`, one text a file, so that they can be read and edited as they are.

`$name` in a file is filled in; everything else, JSON braces included, stands as written. A folder of the user's own has
the same layout and holds what it replaces:

    mine/en/task.md        You work for a research desk. Ask before you guess.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template

from fiqkit.agent.modes import Mode, Structure
from fiqkit.errors import UserError
from fiqkit.taxonomy import CATEGORIES, LANGUAGES

FOLDER = Path(__file__).parent / "prompts"


class Prompts:
    """The prompts of one language. Get them with `Prompts.of`."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self._templates = {name: Template(text) for name, text in texts.items()}
        # Those that nothing is filled in, as they are shown: $$ is a dollar sign there too.
        self._texts = {name: t.substitute() for name, t in self._templates.items() if not t.get_identifiers()}
        self._systems: dict[tuple[Mode, bool], str] = {}

    @staticmethod
    @cache
    def of(language: str, own: Path | None = None) -> Prompts:
        """The prompts of a language, read once, those in the folder `own` before the bundled ones.

        Raises:
            UserError: as `prompt_texts`.
        """
        prefix = f"{language}/"
        texts = prompt_texts(own)
        return Prompts(language, {name.removeprefix(prefix): t for name, t in texts.items() if name.startswith(prefix)})

    def text(self, name: str, **values: str) -> str:
        """One prompt with its `$names` filled in."""
        return self._templates[name].substitute(values) if values else self._texts[name]

    def system(self, mode: Mode, *, post_hoc: bool = False) -> str:
        """The system message of a mode: the task, its rules, the actions that exist, and worked turns with only those.

        It is the same for every instance of a language, so it can give none away.
        """
        if (mode, post_hoc) not in self._systems:
            spelled = {"answer": "answer_bare"} if post_hoc else {}
            if mode.structure and mode.structure.generic:
                spelled["state"] = "state_generic"
            names = [spelled.get(name, name) for name in mode.actions]
            parts = [self._texts["task_enumerate" if mode.enumerate else "task"], *self._rules(mode)]
            parts += [self._texts["actions"], *(self._texts[f"action_{name}"] for name in names)]
            parts += [self._texts["example"], *(self._texts[f"example_{name}"] for name in names)]
            self._systems[mode, post_hoc] = "\n".join(parts)
        return self._systems[mode, post_hoc]

    def _rules(self, mode: Mode) -> list[str]:
        rules = []
        if mode.min_asks:
            name = "rule_exact" if mode.max_asks == mode.min_asks else "rule_least"
            rules.append(self.text(name, count=str(mode.min_asks)))
        if mode.structure:
            rules += self._structure(mode.structure)
        return rules

    def _structure(self, structure: Structure) -> list[str]:
        parts = {"precheck": structure.precheck, "question": structure.template, "gate": structure.gate}
        rules = [self._texts[f"rule_{name}"] for name, there in parts.items() if there]
        if not structure.generic:
            fields = (f"- {c.field}: {c.definition[self.language]}" for c in CATEGORIES.values())
            rules.append("\n".join([self._texts["rule_fields"], *fields]))
        return rules

    def opening(self, question: str, given: Sequence[str]) -> str:
        """The first user message: what the mode hands over, then the question."""
        return "\n\n".join([*given, self.text("question", question=question)])

    def reply(self, reply: str) -> str:
        """The user's words for a simulator's reply; a free-form reply stands as it is."""
        return self._texts.get(f"reply_{reply}", reply)


def prompt_texts(own: Path | None = None) -> dict[str, str]:
    """Every prompt in full by "LANGUAGE/NAME", those in the folder `own` instead of the bundled ones.

    Raises:
        UserError: `own` holds no prompt, one that the kit does not know, or one that lacks a `$name` or has another.
    """
    bundled = _read(FOLDER)
    if own is None:
        return bundled
    found = _read(own)
    if not found:
        raise UserError(f"{own}: holds no prompt; put files such as en/task.md there (bundled: {FOLDER})")
    for name, text in found.items():
        if name not in bundled:
            raise UserError(f"{own / name}.md: no prompt of that name; compare those in {FOLDER}")
        given, needed = _placeholders(text), _placeholders(bundled[name])
        if given != needed:
            wants = ", ".join(sorted(f"${key}" for key in needed)) or "none"
            raise UserError(f"{own / name}.md: its $names must be {wants}; write a lone $ as $$")
    return bundled | found


def _read(folder: Path) -> dict[str, str]:
    try:
        paths = sorted(path for language in LANGUAGES for path in (folder / language).glob("*.md"))
        return {f"{path.parent.name}/{path.stem}": path.read_text("utf-8").strip() for path in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{folder}: a prompt cannot be read ({error})") from error


def _placeholders(text: str) -> set[str]:
    template = Template(text)
    return set(template.get_identifiers()) if template.is_valid() else {""}


def prompts_hash(own: Path | None = None) -> str:
    """Hash of every prompt of every language, for a run's manifest."""
    digest = hashlib.sha256()
    for name, text in sorted(prompt_texts(own).items()):
        digest.update(f"{name}\n{text}\n".encode())
    return digest.hexdigest()[:16]

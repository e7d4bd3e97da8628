"""What a construction's models have said, kept as it is said: a construction that was cut off goes on where it stood.

One SQLite file in the set's folder, one row a question that a model was asked:

    key            who was asked (role, weights, prompts, temperature, seed) and what it was shown, hashed
    reply          what it said, or null
    why            why none of its replies could be used, or null
    prompt_tokens, output_tokens

A row stands once the model has answered, so a killed process loses the questions in flight and no others. An engine's
fault is not kept: it is nothing that the model said, and is asked again. Mining needs no such file; it gives the same
orbits again within minutes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.engine import Engine, Usage
from fiqkit.roles.asking import Asker, NoVerdict

_TABLE = """CREATE TABLE IF NOT EXISTS asked (key TEXT PRIMARY KEY, role TEXT NOT NULL, model TEXT NOT NULL, reply TEXT,
    why TEXT, prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL)"""


class Progress:
    """The questions that models were asked so far.

    Attributes:
        spent: (role, engine's name) → what its answers took, those remembered included.
        recalled: answers that were remembered and not asked for again.

    Raises:
        UserError: the file is something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.spent: dict[tuple[str, str], Usage] = {}
        self.recalled = 0
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path or ":memory:")
            self._file.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{path}: cannot keep what the models say: {error}; move it away") from None

    async def ask(
        self,
        engine: Engine,
        role: str,
        temperature: float,
        seed: int,
        shown: object,
        put: Callable[[Asker], Awaitable[str]],
    ) -> str:
        """What `put` gets out of the model by the asker it is given, or what it got before.

        Args:
            shown: all that the prompt depends on, as JSON holds it.

        Raises:
            NoVerdict: no reply could be used, now or before.
            fiqkit.models.engine.EngineError: the engine failed; that is not remembered.
        """
        asker = Asker(engine, role, temperature, seed)
        described = asker.describe()
        known = [asker.giver("llm"), described["prompts"], temperature, seed, shown]
        key = hashlib.sha256(json.dumps([role, known], ensure_ascii=False).encode()).hexdigest()
        row = self._file.execute(
            "SELECT reply, why, prompt_tokens, output_tokens FROM asked WHERE key = ?", [key]
        ).fetchone()
        if row:
            self.recalled += 1
            self._count(role, engine, row[2], row[3])
            return _given(row[0], row[1])
        reply, why = None, None
        try:
            reply = await put(asker)
        except NoVerdict as fault:
            why = str(fault)
        used = asker.usage
        with self._file:
            self._file.execute(
                "INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?, ?, ?, ?)",
                [key, role, engine.name, reply, why, used.prompt_tokens, used.output_tokens],
            )
        self._count(role, engine, used.prompt_tokens, used.output_tokens)
        return _given(reply, why)

    def _count(self, role: str, engine: Engine, prompt: int, output: int) -> None:
        usage = self.spent.setdefault((role, engine.name), Usage())
        usage.requests += 1
        usage.prompt_tokens += prompt
        usage.output_tokens += output

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _given(reply: str | None, why: str | None) -> str:
    if reply is None:
        raise NoVerdict(why or "no usable reply")
    return reply

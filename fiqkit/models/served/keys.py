"""The key of a server: out of an environment variable, or of a file that its owner alone can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card

FOR_URLS = "FIQKIT_API_KEY"  # of a server whose URL was given on the command line, where no card names a variable
_LONGEST = 65536  # bytes


def api_key(card: Card, variable: str = "", file: str = "") -> str:
    """The key for a card's server, "" where none is asked for.

    Args:
        variable: environment variable that holds it; `variable`_FILE may name a file with it instead.
        file: the file that holds it; in a file of cards relative to that file.

    Raises:
        UserError: it is not there, could be read by others, or is no key. No message repeats any of it.
    """
    if variable and file:
        raise UserError(f"{card.name}: the API key is in {variable} and in {file}; name one of them")
    if file:
        beside = Path(card.source).parent if card.source.endswith(".toml") else Path()
        return _checked(card, _read(card, beside / Path(file).expanduser()), file)
    if not variable and card.source.lower().startswith(("http://", "https://")):
        variable = FOR_URLS if os.environ.get(FOR_URLS) or os.environ.get(f"{FOR_URLS}_FILE") else ""
    if not variable:
        return ""
    key, named = os.environ.get(variable, "").strip(), os.environ.get(f"{variable}_FILE", "")
    if key and named:
        raise UserError(
            f"{card.name}: the API key is in {variable} and in the file of {variable}_FILE; set one of them"
        )
    if named:
        return _checked(card, _read(card, Path(named).expanduser()), named)
    if not key:
        raise UserError(
            f"{card.name}: the environment variable {variable} with the API key is not set, nor {variable}_FILE with "
            "the name of a file that holds it"
        )
    return _checked(card, key, variable)


def _read(card: Card, path: Path) -> str:
    """The text of a secret's file. Its rights are those of what was opened, whatever the name points to later."""
    try:
        with path.open("rb") as stream:
            state = os.fstat(stream.fileno())
            if os.name == "posix" and state.st_mode & 0o077:
                mode = stat.S_IMODE(state.st_mode)
                raise UserError(
                    f"{card.name}: others can read the API key in {path} (mode {mode:03o}); chmod 600 {path}, and "
                    "change the key if others use this machine"
                )
            return stream.read(_LONGEST).decode("utf-8").strip()
    except OSError as error:
        raise UserError(f"{card.name}: the API key's file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{card.name}: the API key's file {path} is no text") from None


def _checked(card: Card, key: str, where: str) -> str:
    if not key:
        raise UserError(f"{card.name}: {where} holds no API key")
    if not key.isprintable() or not key.isascii():
        raise UserError(f"{card.name}: the API key in {where} holds a line break or another character that none has")
    return key

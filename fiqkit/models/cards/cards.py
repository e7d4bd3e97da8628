"""Model cards: one entry a model, read from `cards.toml` and from the user's own TOML file of the same form."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError

BUNDLED = Path(__file__).with_name("cards.toml")
ROLES = ("agent", "simulator", "grader", "judge", "constructor", "verifier", "teacher")


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a model before it is loaded.

    Attributes:
        name: how `--agent` and the others call it.
        engine: a key of `fiqkit.models.ENGINES`.
        weights: where the weights are: `package:MODULE/FILE` (inside an installed package), `hf:OWNER/REPO` or
            `hf:OWNER/REPO/FILE.gguf` (in the Hugging Face cache), `http://…/v1` (a server), or a path, which in a file
            of cards is relative to that file.
        model: the name that a server knows the model by.
        context: tokens that one request's prompt and reply may hold together; 0 for the model's own, at most 8,192.
        parameters: billions of parameters.
        size: bytes of the weights as stored.
        roles: what it is good for.
        thinking: the modes that it can be asked for: () it does not reason, ("on", "off") either, ("on",) always.
        price_in, price_out: US dollars per million prompt and output tokens; 0 for one's own machine.
        layers, kv_heads, head_dim: geometry of the key-value cache (layers that keep one), for the memory plan.
        adapter: path of a LoRA adapter that an agent of this card acts with; in a file of cards relative to that file.
        measures: False for a model that shows that the chain works and whose numbers mean nothing.
        settings: defaults for the engine's `open_engine`.
        source: the file that the card came from.
    """

    name: str
    engine: str
    weights: str
    model: str = ""
    context: int = 4096
    parameters: float = 0.0
    size: int = 0
    roles: tuple[str, ...] = ("agent",)
    thinking: tuple[str, ...] = ()
    price_in: float = 0.0
    price_out: float = 0.0
    layers: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    adapter: str = ""
    measures: bool = True
    license: str = ""
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}(?:[/#]|$)")  # host:port without a scheme
_CREDENTIALS = re.compile(r"(https?://)(?:[^/@\s#?]*@)?([^?\s#]*)(?:\?[^\s#]*)?")


def without_credentials(text: str) -> str:
    """A text with what may be a secret taken out of every URL: user, password and query.

    >>> without_credentials("http://me:pw@box:8000/v1?token=t#qwen")
    'http://box:8000/v1#qwen'
    """
    return _CREDENTIALS.sub(r"\1\2", text)


_SCHEMES = ("package:", "hf:", "http:", "https:")
_FIELDS = {entry.name: entry for entry in fields(Card) if entry.name not in ("name", "source")}
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "tuple[str, ...]": (list,),
    "Mapping[str, Any]": (dict,),
}


def read_cards(path: Path) -> dict[str, Card]:
    """Cards of a TOML file: one table `[name]` a model.

    Raises:
        UserError: no such file, no TOML, or a field that is unknown, missing or of the wrong type.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read the model cards: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file of model cards: {error}") from None
    if not tables:
        raise UserError(f"{path}: holds no model card; a table [name] a model is expected")
    return {name: _card(name, table, path) for name, table in tables.items()}


def _card(name: str, table: Any, path: Path) -> Card:
    where = f"{path}: card [{name}]"
    if not isinstance(table, dict):
        raise UserError(f"{where}: expected a table of fields")
    for key, value in table.items():
        if key not in _FIELDS:
            near = get_close_matches(key, _FIELDS, 1)
            raise UserError(f"{where}: unknown field {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        kinds = _KINDS[str(_FIELDS[key].type)]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UserError(f"{where}: {key} must be {kinds[-1].__name__}, found {value!r}")
    for key in ("engine", "weights"):
        if not table.get(key):
            raise UserError(f"{where}: the field {key!r} is missing")
    for role in table.get("roles", ()):
        if role not in ROLES:
            raise UserError(f"{where}: unknown role {role!r}; the roles are {', '.join(ROLES)}")
    for mode in table.get("thinking", ()):
        if mode not in ("on", "off"):
            raise UserError(f"{where}: thinking holds 'on' and 'off', found {mode!r}")
    if table.get("context", 1) < 1:
        raise UserError(f"{where}: context must be at least 1, found {table['context']}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if not values["weights"].startswith(_SCHEMES):
        values["weights"] = str(path.parent / Path(values["weights"]).expanduser())
    if values.get("adapter"):
        values["adapter"] = str(path.parent / Path(values["adapter"]).expanduser())
    return Card(name=name, source=str(path), **values)


@cache
def _bundled() -> dict[str, Card]:
    return read_cards(BUNDLED)


def all_cards(path: Path | None = None) -> dict[str, Card]:
    """The bundled cards, with those of `path` (default: the FIQKIT_CARDS variable) added or replacing them."""
    own = path or (Path(os.environ["FIQKIT_CARDS"]) if os.environ.get("FIQKIT_CARDS") else None)
    return {**_bundled(), **(read_cards(own) if own else {})}


_NAMED = re.compile(r"([\w.+-]+)=(.+)")


def find_card(name: str, path: Path | None = None) -> Card:
    """The card of that name, or one made up for a path of weights or the URL of a server.

    `NAME=CARD`, `NAME=PATH` and `NAME=URL` give it another name.

    Raises:
        UserError: neither a card nor a path nor a URL.
    """
    cards = all_cards(path)
    if name in cards:
        return cards[name]
    if named := _NAMED.fullmatch(name):
        return replace(find_card(named[2], path), name=named[1])
    if name.lower().startswith(("http://", "https://")):
        url, _, model = name.partition("#")
        scheme, _, rest = url.partition("://")
        url = f"{scheme.lower()}://{rest}"
        shown = without_credentials(url)
        return Card(name=model or shown, engine="openai", weights=url, model=model, context=32768, source=shown)
    if _ADDRESS.match(name) and not Path(name).exists():
        raise UserError(f"{name!r} looks like the address of a server; write http://{name}")
    if name.endswith(".gguf"):
        return Card(name=Path(name).stem, engine="llama_cpp", weights=name, context=0, source=name)
    if os.sep in name or Path(name).is_dir():
        return Card(name=Path(name).name, engine="transformers", weights=name, context=0, source=name)
    near = get_close_matches(name, cards, 1)
    hint = f"did you mean {near[0]!r}?" if near else "see `fiqkit models`, or give a path of weights"
    raise UserError(f"unknown model card {name!r}; {hint}")

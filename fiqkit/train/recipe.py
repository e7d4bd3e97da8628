"""Recipes: which model is trained, how it is loaded, and the settings of each stage; one small TOML file each.

    model = "qwen3-4b"            # a card, or a folder of weights
    quantisation = "nf4"          # or "none": bf16 on a GPU, f32 without

    [sft]
    epochs = 3

Fields that a file leaves out are the published settings (protocol, section 9). Any field can be set from outside, as
`sft.epochs=2`; what was used is stored beside the adapter.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError
from fiqkit.taxonomy import CATEGORIES

FOLDER = Path(__file__).parent / "recipes"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
ALL_LINEAR = ("all-linear",)


@dataclass(frozen=True, slots=True)
class Lora:
    """The adapter. `targets` are names of modules, or "all-linear"; `parameters` fused 3-D weights of experts."""

    r: int = 16
    alpha: int = 32
    dropout: float = 0.05
    targets: tuple[str, ...] = ATTENTION
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sft:
    """Supervised fine-tuning on demonstrations.

    Attributes:
        silent: share of rows that answer without a question, as a negative control: the release mixed in 7 of 164.
    """

    epochs: float = 3
    batch: int = 2
    accumulate: int = 8
    learning_rate: float = 2e-4
    packing: bool = False
    silent: float = 0.0


@dataclass(frozen=True, slots=True)
class Kto:
    """Kahneman-Tversky optimisation (Ethayarajh et al. 2024) on episodes marked good or bad.

    Attributes:
        items: the policy's own episodes are of at most so many items of a split, whole orbits; 0 takes all.
    """

    epochs: float = 1
    batch: int = 4
    accumulate: int = 4
    learning_rate: float = 5e-6
    beta: float = 0.1
    items: int = 0


@dataclass(frozen=True, slots=True)
class Grpo:
    """Group-relative policy optimisation (Shao et al. 2024) on episodes rolled out in the Environment.

    Attributes:
        turns: turns of an episode; 1 trains on the first action alone.
        group: episodes of one question, whose rewards are compared with each other.
        batch: episodes of one step; a multiple of `group`.
    """

    steps: int = 30
    group: int = 4
    batch: int = 16
    learning_rate: float = 1e-6
    beta: float = 0.0
    temperature: float = 1.0
    turns: int = 12
    max_tokens: int = 256
    targeting: str = "touch"  # which form of the first question's target is paid: named, touch or central
    reward: str = "episode"  # or "bits": each question is paid by the bits of the orbit that it resolves


@dataclass(frozen=True, slots=True)
class Rollout:
    """How episodes are played for demonstrations, training and evaluation.

    Attributes:
        passage_lines: lines of figures that a passage keeps, the readings' own among them; 0 keeps all.
    """

    mode: str = "interact"
    retrieval: str = "own"
    turns: int = 12
    questions: int = 6
    result_tokens: int = 1000
    passage_lines: int = 0
    max_tokens: int = 256
    temperature: float = 0.8
    samples: int = 4


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training recipe.

    Attributes:
        quantisation: "nf4" (4-bit with double quantisation) or "none".
        least_4bit: the share of parameters that must be 4-bit after loading, of a quantised model.
        template: file of a prefix-preserving chat template that replaces the model's own, "" to keep that.
        max_length: tokens of a training row; longer rows are an error, never cut.
        gpu: the recipe needs one.
        categories: primary categories that are trained and validated on; () for all.
    """

    name: str
    model: str
    quantisation: str = "nf4"
    least_4bit: float = 0.8
    template: str = ""
    max_length: int = 2048
    gpu: bool = True
    categories: tuple[str, ...] = ()
    seed: int = 0
    lora: Lora = field(default_factory=Lora)
    sft: Sft = field(default_factory=Sft)
    kto: Kto = field(default_factory=Kto)
    grpo: Grpo = field(default_factory=Grpo)
    rollout: Rollout = field(default_factory=Rollout)

    @property
    def context(self) -> int:
        """Tokens of context to play an episode in: more than a training row holds, since an untaught model rambles."""
        return 2 * self.max_length + self.rollout.max_tokens

    def describe(self) -> dict[str, Any]:
        """All fields, for the record beside an adapter."""
        return asdict(self)


def recipe(name: str, changes: Iterable[str] = ()) -> Recipe:
    """A bundled recipe, or a TOML file of one, with some fields changed.

    Args:
        changes: "FIELD=VALUE" or "STAGE.FIELD=VALUE".

    Raises:
        UserError: no such recipe; a field that is unknown or of the wrong kind.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"no recipe {name!r}; the recipes are {', '.join(names())}, or a .toml file") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a recipe ({error})") from None
    return _changed(_filled(Recipe(path.stem, ""), table, str(path)), changes, str(path))


def recorded(table: Mapping[str, Any], changes: Iterable[str] = ()) -> Recipe:
    """The recipe that stands in an adapter's record, with some fields changed.

    Raises:
        UserError: a field that is unknown or of the wrong kind.
    """
    fields_of = {name: value for name, value in table.items() if name != "name"}
    name = str(table.get("name", "recorded"))
    return _changed(_filled(Recipe(name, ""), fields_of, f"the recipe of {name}"), changes, name)


def _changed(made: Recipe, changes: Iterable[str], where: str) -> Recipe:
    """The recipe with the changes made, and sound as a whole."""
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise UserError(f"{change!r} is not FIELD=VALUE; for example sft.epochs=2")
        *stage, name_of_field = key.strip().split(".")
        nested: Any = {name_of_field: _value(value)}
        made = _filled(made, {stage[0]: nested} if stage else nested, change)
    if not made.model:
        raise UserError(f"{where}: the field 'model' is missing; give a card or a folder of weights")
    if unknown := [name for name in made.categories if name not in CATEGORIES]:
        raise UserError(f"{where}: {unknown[0]!r} is none of the categories {', '.join(CATEGORIES)}")
    if made.grpo.batch % made.grpo.group:
        raise UserError(f"{where}: grpo.batch {made.grpo.batch} is no multiple of grpo.group {made.grpo.group}")
    if made.sft.silent >= 1:
        raise UserError(f"{where}: sft.silent is {made.sft.silent}; it is a share, less than 1")
    if made.kto.batch < 2:
        raise UserError(
            f"{where}: kto.batch is {made.kto.batch}; the KL term pairs different rows, so it must be 2 or more"
        )
    return made


def names() -> list[str]:
    """The bundled recipes."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _filled(made: Any, table: Mapping[str, Any], where: str) -> Any:
    known = {entry.name: getattr(made, entry.name) for entry in fields(made)}
    changed: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known or key == "name":
            raise UserError(f"{where}: unknown field {key!r}; there are {', '.join(k for k in known if k != 'name')}")
        before = known[key]
        if is_dataclass(before):
            if not isinstance(value, Mapping):
                raise UserError(f"{where}: {key} is a table, such as {key}.{fields(before)[0].name}=…")
            changed[key] = _filled(before, value, where)
            continue
        value = tuple(value) if isinstance(value, list) else value
        number = isinstance(before, float | int) and not isinstance(before, bool)
        kinds = (float, int) if number and isinstance(before, float) else (type(before),)
        if not isinstance(value, kinds) or (isinstance(value, bool) and not isinstance(before, bool)):
            raise UserError(f"{where}: {key} is {value!r}; a {kinds[0].__name__} is needed")
        if number and not (value >= 0):
            raise UserError(f"{where}: {key} is {value!r}; it cannot be negative")
        changed[key] = value
    return replace(made, **changed)

"""One probe from a model's name to its result: prompts, states, analyses, controls, claims."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fiqkit.errors import UserError, need
from fiqkit.metrics.significance import holm
from fiqkit.models.quantised import quantised_share
from fiqkit.probe import controls
from fiqkit.probe.analysis import Findings, analyse
from fiqkit.probe.capture import (
    Ids,
    States,
    capture,
    check_lengths,
    encode,
    key_of,
    missing,
    open_states,
    save,
)
from fiqkit.probe.category import FEWEST, decodable, logistic_accuracy
from fiqkit.probe.checkpoint import (
    Checkpoint,
    check_adapter,
    check_memory,
    find_checkpoint,
    load_model,
    load_tokenizer,
    memory_need,
    put_on_adapter,
    resolve_dtype,
)
from fiqkit.probe.claims import claims
from fiqkit.probe.folds import Floats
from fiqkit.probe.items import FOLDS, Items, bag_of_words, lengths
from fiqkit.probe.prompts import CONDITIONS, PromptSet, build_prompts
from fiqkit.records import Instance

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]  # (what, done, of)
CHANGED = ("plain", "context")  # prompts under which an adapter is looked at; the controls need the base alone


@dataclass(frozen=True, slots=True)
class Settings:
    """What a probe is asked for.

    Attributes:
        layers: the points to look at, None for all; point 0 is the embedding.
        permutations: sign flips and (up to 500) label shuffles, None for enough to pass Holm.
    """

    model: str
    out: Path
    dtype: str = "auto"
    adapter: Path | None = None
    layers: Sequence[int] | None = None
    folds: int = FOLDS
    permutations: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Study:
    """A finished probe: the result that is printed, and what steering and figures need besides."""

    result: dict[str, Any]
    items: Items
    states: States
    findings: Findings
    checkpoint: Checkpoint

    def add(self, name: str, part: dict[str, Any]) -> None:
        """Take a further experiment into the result; the claims follow."""
        self.result[name] = part
        self.result["claims"] = [asdict(claim) for claim in claims(self.result)]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a probe holds still: the items in their folds, and every prompt as the model's token ids, by condition."""

    settings: Settings
    items: Items
    checkpoint: Checkpoint
    points: list[int]
    prompts: PromptSet
    ids: Mapping[str, list[Ids]]
    manifest: Mapping[str, Any]


def prepare(instances: Sequence[Instance], settings: Settings) -> Prepared:
    """All that can be checked and made before a model is loaded.

    Raises:
        MissingExtra: the packages of the probe are not installed.
        UserError: bad input, in one line.
    """
    need("a probe", "probe", "torch", "transformers", "accelerate", "safetensors", "sklearn")
    items = Items.of(instances, settings.folds, settings.seed)
    if not decodable(items):
        raise UserError(f"no category has {FEWEST} items in two folds, to be decoded; give more instances")
    checkpoint = find_checkpoint(settings.model)
    if settings.adapter:
        check_adapter(settings.adapter, checkpoint)
    points = _points(settings.layers, checkpoint.config().num_hidden_layers + 1)
    tokenizer = load_tokenizer(checkpoint)
    prompts = build_prompts(instances, items.folds, lambda text: len(tokenizer.tokenize(text)), settings.seed)
    ids = {condition: [encode(tokenizer, text) for text in prompts.texts[condition]] for condition in CONDITIONS}
    limit = getattr(checkpoint.config(), "max_position_embeddings", None)
    for condition in CONDITIONS:
        check_lengths(ids[condition], limit, [f"{i.instance_id} ({condition})" for i in instances])
    manifest = _manifest(items, checkpoint, settings, tokenizer)
    return Prepared(settings, items, checkpoint, points, prompts, ids, manifest)


def probe(instances: Sequence[Instance], settings: Settings, say: Say, progress: Progress) -> Study:
    """Run a probe; states already in `settings.out` are read back and the model is not loaded.

    Raises:
        MissingExtra: the packages of the probe are not installed.
        UserError: bad input, in one line; nothing is loaded before all that can be checked has been.
    """
    ready = prepare(instances, settings)
    _make_folder(settings.out)
    items, prompts, ids = ready.items, ready.prompts, ready.ids
    states = captured(ready, "states", None, say, progress)
    findings = analysed(ready, "analyses", states, progress)
    words = analyse(items, bag_of_words(prompts.texts), permutations=settings.permutations, thorough=False)
    counts = {condition: [len(prompt) for prompt in ids[condition]] for condition in CONDITIONS}
    bare = analyse(items, lengths(prompts.texts, counts), permutations=settings.permutations, thorough=False)
    result: dict[str, Any] = {
        "model": settings.model,
        "adapter": None,
        "layers": states.points - 1,
        "width": states.width,
        "items": len(items),
        "companies": len(set(items.clusters)),
        "direction": _direction(findings, states.points - 1),
        "category": _category(items, states, findings),
        "controls": controls.all_controls(items, findings, words, bare),
        "prompts": _about_prompts(items, prompts, counts),
        "manifest": ready.manifest,
    }
    result["claims"] = [asdict(claim) for claim in claims(result)]
    if settings.adapter:
        after = captured(ready, "states-adapter", settings.adapter, say, progress, CHANGED)
        adapted = analysed(ready, "analyses with the adapter", after, progress)
        result["adapter"] = _adapter(items, settings.adapter, (states, findings), (after, adapted))
    return Study(result, items, states, findings, ready.checkpoint)


def _make_folder(out: Path) -> None:
    """A folder that cannot be made is found out before the model has run."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: cannot be made a folder ({error.strerror}); name another with --out") from error


def _points(asked: Sequence[int] | None, points: int) -> list[int]:
    for layer in asked or ():
        if not 0 <= layer < points:
            raise UserError(
                f"--layers {layer} is out of range; this model has points 0 (the embedding) to {points - 1} (the last "
                f"layer)"
            )
    return sorted(set(asked)) if asked else list(range(points))


def analysed(ready: Prepared, what: str, states: States, progress: Progress, *, thorough: bool = True) -> Findings:
    """The analyses of states, `what` being their name for whoever waits; see `analyse`."""
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress(what, done, len(ready.points))

    draws = ready.settings.permutations
    return analyse(ready.items, states, ready.points, permutations=draws, thorough=thorough, progress=step)


# --- states ---------------------------------------------------------------------------------------------------------


def captured(
    ready: Prepared,
    name: str,
    adapter: Path | None,
    say: Say,
    progress: Progress,
    conditions: Sequence[str] = CONDITIONS,
) -> States:
    """The states under some conditions, captured where the folder `name` of the output does not hold them already."""
    from fiqkit.models.cards.weights import fingerprint

    settings, checkpoint = ready.settings, ready.checkpoint
    ids = {condition: ready.ids[condition] for condition in conditions}
    dtype = resolve_dtype(settings.dtype)
    about = {
        "weights": checkpoint.fingerprint,
        "dtype": dtype,
        "adapter": fingerprint(adapter) if adapter else None,
    }
    folder = settings.out / name
    keys = {condition: key_of(about, prompts) for condition, prompts in ids.items()}
    needed = missing(folder, keys)
    if not needed:
        say(f"states read back from {folder}; the model is not run")
        return open_states(folder, conditions)
    total = sum(len(prompts) for prompts in ids.values())
    need = memory_need(checkpoint, dtype, total)
    say(f"{settings.model}: {need.line()}")
    check_memory(need)
    model = load_model(checkpoint, dtype)
    if dtype == "4bit":
        say(f"{quantised_share(model):.0%} of the parameters are in 4 bits")
    if adapter:
        model = put_on_adapter(model, adapter)
    done, of = 0, sum(len(ids[condition]) for condition in needed)

    def step(count: int) -> None:
        nonlocal done
        done += count
        progress("states", done, of)

    for condition in needed:
        save(folder, condition, capture(model, ids[condition], step), keys[condition], about)
    return open_states(folder, conditions)


# --- the result -----------------------------------------------------------------------------------------------------


def _direction(findings: Findings, layers: int) -> dict[str, Any]:
    profile = findings.contrasts["ambiguity"]
    points = findings.points
    peak = points[profile.peak]
    return {
        "peak_layer": peak,
        "peak_depth": peak / layers,
        "peak_band": [points[i] for i in profile.peak_band],
        "separation": float(profile.separation[profile.peak]),
        "band": [float(v) for v in profile.band[profile.peak]],
        "p_holm": float(profile.p_holm[profile.peak]),
        "nested_separation": profile.nested,
        "nested_band": list(profile.nested_band),
        "nested_layers": [points[i] for i in profile.nested_layers],
        "raw_peak_depth": points[int(np.argmax(profile.raw))] / layers,
        "raw_over_norm_peak_depth": points[int(np.argmax(_over_norm(findings)))] / layers,
        "norm_growth": float(findings.norms[-1] / (findings.norms[0] or 1.0)),
        "profile": [
            {
                "layer": point,
                "depth": point / layers,
                "separation": float(profile.separation[i]),
                "raw": float(profile.raw[i]),
                "norm": float(findings.norms[i]),
                "raw_over_norm": float(_over_norm(findings)[i]),
                "low": float(profile.band[i, 0]),
                "high": float(profile.band[i, 1]),
                "p": float(profile.p[i]),
                "p_holm": float(profile.p_holm[i]),
            }
            for i, point in enumerate(points)
        ],
    }


def _over_norm(findings: Findings) -> Floats:
    """Raw separation in units of the mean length of the states."""
    norms = findings.norms
    ratio: Floats = findings.contrasts["ambiguity"].raw / np.where(norms > 0, norms, 1.0)
    return ratio


def _category(items: Items, states: States, findings: Findings) -> dict[str, Any]:
    pair, points = findings.pair, findings.points
    chosen = [points[i] for i in pair.layers]
    adjusted = holm([decoding.p_auroc for decoding in findings.rest.values()])
    return {
        "pair": list(items.pair),
        "items": pair.n,
        "accuracy": pair.accuracy,
        "baseline": pair.baseline,
        "shuffled": pair.shuffled,
        "ceiling": items.ceiling(),
        "p": pair.p,
        "auroc": pair.auroc,
        "layer": points[pair.layer],
        "layers_by_fold": chosen,
        "logistic_accuracy": logistic_accuracy(items, states, chosen),
        "one_vs_rest": {
            name: {
                "items": int((items.primary == name).sum()),
                "auroc": decoding.auroc,
                "shuffled": decoding.shuffled_auroc,
                "p": decoding.p_auroc,
                "p_holm": p,
                "layer": points[decoding.layer],
            }
            for (name, decoding), p in zip(findings.rest.items(), adjusted, strict=True)
        },
        "profile": [
            {
                "layer": point,
                "accuracy": float(pair.by_layer[i]),
                "auroc": float(pair.by_layer_auroc[i]),
                "control_accuracy": None if findings.control is None else float(findings.control[i]),
                "selectivity": None if findings.control is None else float(pair.by_layer[i] - findings.control[i]),
                **{name: float(decoding.by_layer_auroc[i]) for name, decoding in findings.rest.items()},
            }
            for i, point in enumerate(points)
        ],
    }


def _adapter(
    items: Items, folder: Path, before: tuple[States, Findings], after: tuple[States, Findings]
) -> dict[str, Any]:
    """What an adapter changes: peak, nested separation and decoding, and the cosine of the two directions by layer."""
    (states, was), (changed, now) = before, after
    layers = states.points - 1
    cosines = []
    for point in was.points:
        one, two = (s.layer(point) for s in (states, changed))
        old, new = ((s["plain"] - s["context"]).mean(axis=0) for s in (one, two))
        cosines.append(float(old @ new / (np.linalg.norm(old) * np.linalg.norm(new) or 1.0)))
    return {
        "folder": str(folder),
        "direction": _direction(now, layers),
        "category": _category(items, changed, now),
        "cosine": [{"layer": point, "cosine": value} for point, value in zip(was.points, cosines, strict=True)],
        "separation_change": now.contrasts["ambiguity"].nested - was.contrasts["ambiguity"].nested,
        "accuracy_change": now.pair.accuracy - was.pair.accuracy,
    }


def _about_prompts(items: Items, prompts: PromptSet, counts: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    gaps = [n - c for n, c in zip(counts["neutral"], counts["context"], strict=True)]
    return {
        "mean_tokens": {condition: sum(column) / len(column) for condition, column in counts.items()},
        "neutral_minus_context_tokens": sum(gaps) / len(gaps),
        "neutral_off_by_more_than_two": sum(abs(gap) > 2 for gap in gaps),
        "mismatched_from_same_category": prompts.same_primary,
        "mismatched_in_another_language": prompts.other_language,
        "paraphrases_of_unknown_form": len(items) - prompts.reworded,
    }


def _manifest(items: Items, checkpoint: Checkpoint, settings: Settings, tokenizer: Any) -> dict[str, Any]:
    texts = "\n".join(f"{i.instance_id}\t{i.question}\t{i.context}\t{i.primary}" for i in items.instances)
    return {
        "instances": hashlib.sha256(texts.encode()).hexdigest()[:16],
        "weights": checkpoint.fingerprint,
        "dtype": resolve_dtype(settings.dtype),
        "template": bool(tokenizer.chat_template),
        "folds": settings.folds,
        "seed": settings.seed,
        "versions": {name: version(name) for name in ("torch", "transformers", "numpy", "scikit-learn")},
    }

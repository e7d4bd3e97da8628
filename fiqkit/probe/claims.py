"""The findings in words: each claim that one might make, and whether it survives its control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LEVEL = 0.05
LATE = 0.9  # depth
LOSS = 0.1  # of accuracy on the twin that must be ruled out

SURVIVES, WEAKENED, FAILS, UNTESTED = "survives", "weakened", "does not survive", "not tested"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim with its verdict and the numbers that it rests on."""

    claim: str
    verdict: str
    because: str


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Every claim in order. What depends on a finding that is not there is not tested."""
    return [*_about_direction(result), *_about_category(result), _about_depth(result), *_about_use(result)]


def _about_direction(result: Mapping[str, Any]) -> Iterator[Claim]:
    direction, controls = result["direction"], result["controls"]
    there = direction["p_holm"] <= LEVEL and direction["separation"] > 0
    yield Claim(
        "A direction separates ambiguous questions (Q) from resolved ones (Q + C) in companies that did not shape it.",
        SURVIVES if there else FAILS,
        f"separation {direction['separation']:.2f} SD at layer {direction['peak_layer']} (depth "
        f"{direction['peak_depth']:.0%}), {_p(direction['p_holm'])} after Holm over the layers; "
        f"{direction['nested_separation']:.2f} SD with the layer picked on other companies",
    )
    yield _if(
        there,
        "It is more than text having been added: neutral text of C's length does not do what C does.",
        lambda: _retained(controls["neutral"], "neutral text leaves {:.0%} of the way to Q + C untravelled"),
    )
    yield _if(
        there,
        "It is more than the vocabulary of a constraint: another instance's C does not do what C does.",
        lambda: _retained(controls["mismatched"], "another C leaves {:.0%} of the way untravelled"),
    )
    yield _if(
        there,
        "Matched and mismatched contexts, the same texts differently paired, can be told apart directly.",
        lambda: _direct(controls["mismatched"]),
    )
    yield _if(
        there,
        "It does not hang on the wording of Q.",
        lambda: _retained(controls["paraphrase"], "{:.0%} of the separation is there on reworded questions"),
    )
    yield _languages(there, controls["cross_language"], "direction", "The direction carries over between languages.")


def _about_depth(result: Mapping[str, Any]) -> Claim:
    direction = result["direction"]
    return _if(
        direction["p_holm"] <= LEVEL and direction["separation"] > 0,
        f"The direction is strongest in the last {1 - LATE:.0%} of the network, where the paper's raw profile peaks.",
        lambda: _late(direction, result["layers"]),
    )


def _about_category(result: Mapping[str, Any]) -> Iterator[Claim]:
    category, controls = result["category"], result["controls"]
    there = category["p"] <= LEVEL and category["accuracy"] > category["shuffled"]
    first, second = category["pair"]
    yield Claim(
        f"The state of Q alone tells {first} from {second} in companies not seen before.",
        SURVIVES if there else FAILS,
        f"accuracy {category['accuracy']:.2f} (majority {category['baseline']:.2f}, shuffled labels "
        f"{category['shuffled']:.2f}, ceiling of Q's wording {category['ceiling']:.2f}), {_p(category['p'])}, "
        f"layer and penalty chosen on other companies",
    )
    for name, title in (("bag_of_words", "the words of Q"), ("length", "the length of Q")):
        yield _if(there, f"The states hold more about the category than {title}.", lambda n=name: _beyond(controls[n]))
    yield _languages(
        there, controls["cross_language"], "category", "The category decoder carries over between languages."
    )
    rare = [name for name, found in category["one_vs_rest"].items() if found["p_holm"] <= LEVEL]
    yield Claim(
        "Each category can be told from the rest.",
        SURVIVES if len(rare) == len(category["one_vs_rest"]) else WEAKENED if rare else FAILS,
        "AUROC " + ", ".join(f"{n} {f['auroc']:.2f} ({_p(f['p_holm'])})" for n, f in category["one_vs_rest"].items()),
    )


def _about_use(result: Mapping[str, Any]) -> Iterator[Claim]:
    """Of a probe that erased the direction."""
    if "erasure" not in result:
        return
    still = result["erasure"]["rows"][0]
    for name, rate, claim in (
        ("asked", "interaction_rate", "It is used: without it the model asks less, without a random one it does not."),
        (
            "twin_right",
            "twin_accuracy",
            "It is not used to answer: without it the resolved question is still answered.",
        ),
    ):
        found = result["erasure"]["against_random"][name]
        if not still[rate]:
            yield Claim(claim, UNTESTED, f"with nothing erased the rate is 0 on {result['erasure']['items']} items")
            continue
        less = found["difference"] < 0 and found["p"] <= LEVEL
        kept = found["ci"][0] > -LOSS
        verdict = (
            (SURVIVES if less else FAILS) if name == "asked" else FAILS if less else SURVIVES if kept else WEAKENED
        )
        low, high = found["ci"]
        yield Claim(
            claim,
            verdict,
            f"{still[rate]:.0%} with nothing erased; the direction erased minus a random one: "
            f"{found['difference']:+.0%} (95% {low:+.0%} to {high:+.0%}), {_p(found['p'])}, "
            f"{result['erasure']['items']} items of {result['erasure']['companies']} companies",
        )


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _if(there: bool, claim: str, test: Any) -> Claim:
    if not there:
        return Claim(claim, UNTESTED, "there is no finding to control")
    verdict, because = test()
    return Claim(claim, verdict, because)


def _late(direction: Mapping[str, Any], layers: int) -> tuple[str, str]:
    """Survives when the standardised peak certainly lies late; raw separation alone grows with the norm."""
    low, high = (layer / layers for layer in direction["peak_band"])
    late = [d >= LATE for d in (direction["peak_depth"], direction["raw_over_norm_peak_depth"])]
    verdict = SURVIVES if all(late) and low >= LATE else WEAKENED if any(late) else FAILS
    peak, raw, over_norm = (
        f"{direction[name]:.0%}" for name in ("peak_depth", "raw_peak_depth", "raw_over_norm_peak_depth")
    )
    return verdict, (
        f"standardised it peaks at depth {peak} (95% {low:.0%} to {high:.0%}), raw at {raw}, raw over the states' "
        f"length at {over_norm}; which grows {direction['norm_growth']:.1f}-fold from the embedding to the last layer"
    )


def _retained(control: Mapping[str, Any], words: str) -> tuple[str, str]:
    """Survives when most of the effect is certainly left, is weakened when some is, fails otherwise."""
    low, high = control["retained_band"]
    some = low > 0 and control["p"] <= LEVEL
    verdict = SURVIVES if some and low > 0.5 else WEAKENED if some else FAILS
    return verdict, f"{words.format(control['retained'])} (95% {low:.0%} to {high:.0%}), {_p(control['p'])}"


def _direct(control: Mapping[str, Any]) -> tuple[str, str]:
    direct = control["direct"]
    found = direct["p_holm"] <= LEVEL and direct["separation"] > 0
    return SURVIVES if found else FAILS, (
        f"separation {direct['separation']:.2f} SD, {_p(direct['p_holm'])} after Holm over the layers (AUROC "
        f"{direct['auroc']:.2f}; words alone {control['words_auroc']:.2f}, length alone {control['length_auroc']:.2f})"
    )


def _beyond(control: Mapping[str, Any]) -> tuple[str, str]:
    low, high = control["states_minus_this_band"]
    better = control["p_states_better"] <= LEVEL and low > 0
    return SURVIVES if better else FAILS, (
        f"it reaches {control['accuracy']:.2f} on the same folds; the states differ by "
        f"{control['states_minus_this']:+.2f} (95% {low:+.2f} to {high:+.2f}), {_p(control['p_states_better'])}"
    )


def _languages(there: bool, control: Mapping[str, Any] | None, part: str, claim: str) -> Claim:
    if not there:
        return Claim(claim, UNTESTED, "there is no finding to control")
    if control is None:
        return Claim(claim, UNTESTED, "the set has one language, or too few companies or categories in one of two")
    carried = [language for language, found in control.items() if found[part]["p"] <= LEVEL]
    because = "; ".join(
        f"to {language}: AUROC {found[part]['auroc']:.2f}, {_p(found[part]['p'])}"
        for language, found in control.items()
    )
    return Claim(claim, SURVIVES if len(carried) == len(control) else WEAKENED if carried else FAILS, because)

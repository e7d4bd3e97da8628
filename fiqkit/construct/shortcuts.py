"""Can a benchmark be solved without the skill it measures? Guesses from the surface, each beside its chance level.

    python -m fiqkit.construct.shortcuts [--instances FILE] [--passages FILE] [--json]

The classifiers are naive Bayes over words (Chinese: characters), tried on companies that they were not trained on, in
five parts that hold each label alike. A share well above chance says that the set gives something away.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

import click

from fiqkit import bench_data, values
from fiqkit.datasets import read_instances, read_passages
from fiqkit.records import Instance, Passage


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One guess.

    Attributes:
        guesses: "category" (which one is primary) or "intended" (which of the two values is meant).
        share: how often it is right.
        chance: how often the best constant guess is, for categories; one half for the intended value.
    """

    name: str
    guesses: str
    language: str
    n: int
    share: float
    chance: float


def shortcuts(instances: Sequence[Instance], passages: Iterable[Passage]) -> list[Shortcut]:
    """Every shortcut, by language."""
    texts = {passage.passage_id: passage.text for passage in passages}
    found = []
    for language in sorted({instance.language for instance in instances}):
        some = [instance for instance in instances if instance.language == language]
        found += [_category(some), *_intended(some, texts)]
    return found


def _category(instances: Sequence[Instance]) -> Shortcut:
    """The primary category from the words of the question, the company's name left out."""
    labels = [instance.primary for instance in instances]
    words = [_words(instance.question.replace(instance.company or "", "")) for instance in instances]
    right = [guess == label for guess, label in zip(_guesses(instances, words, labels), labels, strict=True)]
    return _shortcut("words of the question", "category", instances, right, _commonest(labels))


def _intended(instances: Sequence[Instance], texts: dict[str, str]) -> list[Shortcut]:
    """The intended value, from what the two values and the passage look like."""
    passages = [texts.get(instance.passage_id or "", "") for instance in instances]
    larger = [_is_larger(instance) for instance in instances]
    first = [_stands_first(i, text) for i, text in zip(instances, passages, strict=True)]
    guessed = _guesses(instances, [_words(text) for text in passages], [str(is_larger) for is_larger in larger])
    by_words = [guess == str(is_larger) for guess, is_larger in zip(guessed, larger, strict=True)]
    marks: dict[str, Sequence[float]] = {
        "the larger value": larger,
        "the larger or the smaller value, whichever is usual in the category": _as_usual(instances, larger),
        "the value that stands first": first,
        "the longer line": [_above(len(i.intended_evidence_span), len(i.default_evidence_span)) for i in instances],
        "words of the two lines": _by_lines(instances),
        "words of the passage, for larger or smaller": by_words,
    }
    return [_shortcut(name, "intended", instances, right, 0.5) for name, right in marks.items()]


def _as_usual(instances: Sequence[Instance], larger: Sequence[bool]) -> list[bool]:
    """Right for the larger half of each category: what one would get who knew which half that is."""
    count: dict[str, Counter[bool]] = defaultdict(Counter)
    for instance, is_larger in zip(instances, larger, strict=True):
        count[instance.primary][is_larger] += 1
    usual = {category: tally[True] >= tally[False] for category, tally in count.items()}
    return [is_larger == usual[i.primary] for i, is_larger in zip(instances, larger, strict=True)]


def _is_larger(instance: Instance) -> bool:
    ours, default = (values.find(text, instance.language) for text in (instance.answer, instance.default_answer))
    return ours[0].number > default[0].number


def _stands_first(instance: Instance, passage: str) -> bool:
    return passage.find(instance.intended_evidence_span) < passage.find(instance.default_evidence_span)


def _above(ours: float, default: float) -> float:
    """1 when the guess falls on ours, one half when there is nothing to go by."""
    return 0.5 if ours == default else float(ours > default)


def _commonest(labels: Sequence[str]) -> float:
    return max(Counter(labels).values()) / len(labels)


def _shortcut(
    name: str, guesses: str, instances: Sequence[Instance], right: Sequence[float], chance: float
) -> Shortcut:
    share = sum(right) / len(right)
    return Shortcut(name, guesses, instances[0].language, len(right), round(share, 4), round(chance, 4))


# --- naive Bayes ----------------------------------------------------------------------------------------------------

_PARTS = 5
Score = Callable[[list[str], str], float]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+|[\u3400-\u9fff]", text.lower())


def _parts(instances: Sequence[Instance], labels: Sequence[str]) -> list[int]:
    """The part that each instance is tried in: companies stay whole, and every label is dealt out evenly.

    Leaving out one at a time would not do: from a balanced set it takes the label asked for, and guesses the other.
    """
    part: dict[str, int] = {}
    dealt: Counter[str] = Counter()
    for instance, label in sorted(zip(instances, labels, strict=True), key=lambda pair: pair[0].instance_id):
        if instance.cluster not in part:
            part[instance.cluster] = dealt[label] % _PARTS
            dealt[label] += 1
    return [part[instance.cluster] for instance in instances]


def _guesses(instances: Sequence[Instance], words: Sequence[list[str]], labels: Sequence[str]) -> list[str]:
    """The label that each item gets from a model trained on the other parts."""
    parts = _parts(instances, labels)
    names = sorted(set(labels))
    guesses = [""] * len(labels)
    for part in set(parts):
        train = [i for i, other in enumerate(parts) if other != part]
        score = _bayes([words[i] for i in train], [labels[i] for i in train])
        for i in (i for i, other in enumerate(parts) if other == part):
            scores = {name: score(words[i], name) for name in names}
            guesses[i] = max(names, key=scores.__getitem__)
    return guesses


def _by_lines(instances: Sequence[Instance]) -> list[float]:
    """Whether an instance's intended line looks more like the intended lines of other parts than its default does."""
    lines = [(_words(i.intended_evidence_span), _words(i.default_evidence_span)) for i in instances]
    parts = _parts(instances, [i.primary + str(_is_larger(i)) for i in instances])
    right = [0.5] * len(instances)
    for part in set(parts):
        train = [pair for pair, other in zip(lines, parts, strict=True) if other != part]
        score = _bayes([line for pair in train for line in pair], ["intended", "default"] * len(train))
        for i in (i for i, other in enumerate(parts) if other == part):
            ours, default = (score(line, "intended") - score(line, "default") for line in lines[i])
            right[i] = _above(round(ours, 9), round(default, 9))
    return right


def _bayes(words: Sequence[list[str]], labels: Sequence[str]) -> Score:
    """Log score of a bag of words under a label: multinomial, add-one smoothed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for bag, label in zip(words, labels, strict=True):
        counts[label].update(bag)
    prior = Counter(labels)
    vocabulary = len({word for bag in words for word in bag}) + 1

    def score(bag: list[str], label: str) -> float:
        if label not in prior:
            return float("-inf")
        total = counts[label].total() + vocabulary
        likelihood = sum(log((counts[label][word] + 1) / total) for word in bag)
        return log(prior[label] / len(labels)) + likelihood

    return score


# --- the command ----------------------------------------------------------------------------------------------------


@click.command()
@click.option("--instances", type=click.Path(exists=True, path_type=Path), default=bench_data.INSTANCES)
@click.option("--passages", type=click.Path(exists=True, path_type=Path), default=bench_data.PASSAGES)
@click.option("--json", "as_json", is_flag=True)
def main(instances: Path, passages: Path, as_json: bool) -> None:
    """Print every shortcut with its chance level; default: of the bundled set."""
    found = shortcuts(read_instances(instances), read_passages(passages))
    if as_json:
        click.echo(json.dumps([asdict(shortcut) for shortcut in found], ensure_ascii=False))
        return
    click.echo("| guess | from | language | n | right | chance |\n| --- | --- | --- | ---: | ---: | ---: |")
    for s in found:
        click.echo(f"| {s.guesses} | {s.name} | {s.language} | {s.n} | {s.share:.2f} | {s.chance:.2f} |")


if __name__ == "__main__":
    main()

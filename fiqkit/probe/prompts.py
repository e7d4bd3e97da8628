"""The prompts of the probe: Q, Q with its context C, and the controls that leave out one thing at a time.

plain               Q
context             Q, a blank line, C (protocol, section 8)
neutral             Q with text of C's length and token classes that says nothing about the reading
mismatched          Q with the context of another instance, each context used exactly once
paraphrase          Q in other words
paraphrase_context  Q in other words, with C
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fiqkit.probe.folds import Ints
from fiqkit.probe.neutral_text import CHINESE, ENGLISH
from fiqkit.records import Instance

CONDITIONS = ("plain", "context", "neutral", "mismatched", "paraphrase", "paraphrase_context")
_TRIES = 12  # neutral texts drawn for each context; the one nearest in tokens is taken

Count = Callable[[str], int]  # text → number of tokens


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The user messages of every condition, each a list with one text an item.

    Attributes:
        partner: item whose context each mismatched prompt carries.
        same_primary, other_language: how many mismatched contexts share the primary category, or not the language.
        reworded: how many questions had a known form; the others were given a lead-in.
    """

    texts: dict[str, list[str]]
    partner: list[int]
    same_primary: int
    other_language: int
    reworded: int


def build_prompts(instances: Sequence[Instance], folds: Ints, count: Count, seed: int) -> PromptSet:
    """Every prompt of every instance. `count` is the model's own token count, by which neutral texts are matched."""
    questions = [i.question for i in instances]
    contexts = [i.context for i in instances]
    neutral = [neutral_context(i.context, count, f"{seed}:{i.instance_id}") for i in instances]
    partner = derangement(instances, folds, seed)
    others = [contexts[j] for j in partner]
    rephrased = [paraphrase(i.question, i.language) for i in instances]
    reworded = [text for text, _ in rephrased]
    return PromptSet(
        texts={
            "plain": questions,
            "context": _join(questions, contexts),
            "neutral": _join(questions, neutral),
            "mismatched": _join(questions, others),
            "paraphrase": reworded,
            "paraphrase_context": _join(reworded, contexts),
        },
        partner=partner,
        same_primary=sum(instances[i].primary == instances[j].primary for i, j in enumerate(partner)),
        other_language=sum(instances[i].language != instances[j].language for i, j in enumerate(partner)),
        reworded=sum(known for _, known in rephrased),
    )


def _join(questions: Sequence[str], contexts: Sequence[str]) -> list[str]:
    return [f"{question}\n\n{context}" for question, context in zip(questions, contexts, strict=True)]


# --- neutral context ------------------------------------------------------------------------------------------------

_PIECE = re.compile(r"[\u3400-\u9fff]+|[A-Za-z]+|\d+|.", re.DOTALL)
_WORDS = re.findall(r"[a-z]+", ENGLISH.lower())


def neutral_context(context: str, count: Count, seed: str) -> str:
    """Text with C's punctuation, spacing, word and digit places, filled with words about a reading room.

    Chinese runs keep their number of characters, numbers their number of digits, words their number and case. Of
    several fillings the one nearest to C in tokens is returned.
    """
    rng = random.Random(seed)
    goal = count(context)
    tries = (_fill(context, rng) for _ in range(_TRIES))
    return min(tries, key=lambda text: abs(count(text) - goal))


def _fill(context: str, rng: random.Random) -> str:
    word, character = rng.randrange(len(_WORDS)), rng.randrange(len(CHINESE))
    parts = []
    for piece in _PIECE.findall(context):
        if piece.isdigit() and piece.isascii():
            parts.append(str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in piece[1:]))
        elif piece.isascii() and piece.isalpha():
            filling = _WORDS[word % len(_WORDS)]
            parts.append(filling.capitalize() if piece[0].isupper() else filling)
            word += 1
        elif "\u3400" <= piece[0] <= "\u9fff":
            parts += [CHINESE[(character + k) % len(CHINESE)] for k in range(len(piece))]
            character += len(piece)
        else:
            parts.append(piece)
    return "".join(parts)


# --- context of another instance ------------------------------------------------------------------------------------


def derangement(instances: Sequence[Instance], folds: Ints, seed: int) -> list[int]:
    """For each item the item that lends its context: of another company, in its language and fold where possible.

    Every context is lent exactly once, so that mismatched and matched prompts hold the very same contexts and differ
    only in which question they stand beside; lending stays within a fold, so that no context is seen on both sides
    of a split. Another primary category is preferred, since a context of one's own category may fit by chance.
    """
    from scipy.optimize import linear_sum_assignment

    def differs(values: Sequence[str]) -> np.ndarray:
        column = np.asarray(values)
        return column[:, None] != column[None, :]

    n = len(instances)
    cost = np.random.default_rng(seed).random((n, n))
    cost += 1e6 * ~differs([i.cluster for i in instances]) + 1e8 * np.eye(n)
    cost += 1e5 * differs([str(fold) for fold in folds])
    cost += 1e4 * differs([i.language for i in instances])
    cost += 1e3 * ~differs([i.context for i in instances])
    cost += 1e2 * ~differs([i.primary for i in instances])
    return [int(j) for j in linear_sum_assignment(cost)[1]]


# --- paraphrase -----------------------------------------------------------------------------------------------------

# language → known forms of a question, each with its rewording
_FORMS = {
    "en": (
        (
            re.compile(r"^What (?:was|were|is|are) (?P<whose>.+?(?:['’]s|s['’])) (?P<what>.+?)\?$"),
            "Please look up {whose} {what} and tell me how much it came to.",
        ),
        (
            re.compile(r"^What (?P<what>[a-z].+?) did (?P<who>.+?) (?:have|report)\?$"),
            "Please look up the {what} of {who} and tell me how much it came to.",
        ),
        (
            re.compile(
                r"^(?:What did|Which figure d(?:oes|id)) (?P<who>.+?) "
                r"(?:(?:report|have) as its|(?:give|have) for) (?P<what>.+?)\?$"
            ),
            "Please look up the {what} of {who} and tell me how much it came to.",
        ),
    ),
    "zh": (
        (re.compile(r"^(?P<who>.+?)实现了多少(?P<what>.+?)？$"), "麻烦查一下，{who}的{what}有多少？"),
        (re.compile(r"^(?P<what>.+?)(?:是多少|为多少|有多少|多少)？$"), "麻烦查一下，{what}有多少？"),
    ),
}
_LEAD_IN = {"en": "Here is something I would like to find out: {question}", "zh": "我想了解这样一件事：{question}"}


def paraphrase(question: str, language: str) -> tuple[str, bool]:
    """(Q in other words, whether its form was known). No word that bears on the reading is added or lost."""
    for form, rewording in _FORMS[language]:
        if match := form.match(question):
            return rewording.format(**match.groupdict()), True
    return _LEAD_IN[language].format(question=question), False

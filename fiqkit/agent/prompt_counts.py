"""What the count of prompt tokens tells: messages only grow, so a count that falls is that of a prompt which was cut,
or was counted without what the server had cached."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fiqkit.records import Turn
from fiqkit.taxonomy import PROMPT_CUT


def cut_prompts(turns: Sequence[Turn]) -> dict[str, None]:
    """A flag with both numbers for each turn whose prompt had fewer tokens than the one before, in order."""
    counts = [turn.prompt_tokens for turn in turns if turn.prompt_tokens]
    return {f"{PROMPT_CUT}: {now} tokens after {before}": None for before, now in pairwise(counts) if now < before}

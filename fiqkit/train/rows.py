"""Training rows out of episodes: token ids, and which of them the model wrote.

A turn is a prompt and the reply to it. Where the next prompt begins with this prompt and this reply, token for token,
both go into one row; where a chat template changes what was said before (it drops a think block), a new row begins.
So a row never holds a token that the model would not have seen when served.

    prompt 1 | reply 1 | what prompt 2 adds | reply 2 | …
    0        | 1       | 0                  | 1       |       mask
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fiqkit.errors import UserError
from fiqkit.models.template import ChatTemplate
from fiqkit.records import Episode

Encode = Callable[[str], list[int]]  # text with special tokens written out → ids, none added


@dataclass(frozen=True, slots=True)
class Row:
    """Token ids with the mask of those that the model wrote; equally long, and at least one is the model's."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.mask):
            raise ValueError(f"{len(self.ids)} tokens and a mask of {len(self.mask)}")
        if 1 not in self.mask:
            raise ValueError("a row in which the model wrote nothing")

    @property
    def labels(self) -> list[int]:
        """The ids where the loss is taken, -100 elsewhere."""
        return [token if own else -100 for token, own in zip(self.ids, self.mask, strict=True)]

    @property
    def prompt_length(self) -> int:
        """Tokens before the model's first."""
        return self.mask.index(1)


def join(turns: Iterable[tuple[Sequence[int], Sequence[int]]]) -> list[Row]:
    """Rows of (prompt ids, reply ids) in the order of the turns."""
    rows: list[tuple[list[int], list[int]]] = []
    for prompt, reply in turns:
        if not reply:
            continue
        said = list(prompt)
        if rows and said[: len(rows[-1][0])] == rows[-1][0]:
            ids, mask = rows[-1]
            added = said[len(ids) :]
            ids += added
            mask += [0] * len(added)
        else:
            ids, mask = said, [0] * len(said)
            rows.append((ids, mask))
        ids += reply
        mask += [1] * len(reply)
    return [Row(tuple(ids), tuple(mask)) for ids, mask in rows]


def of_episode(episode: Episode) -> list[Row]:
    """Rows from the ids that the engine recorded: no token is made anew.

    Raises:
        UserError: the engine recorded none.
    """
    turns = [turn for turn in episode.turns if turn.output_tokens or turn.output_ids]
    if any(not turn.prompt_ids or not turn.output_ids for turn in turns):
        raise UserError(f"episode of {episode.instance_id} in {episode.mode}: the engine recorded no token ids")
    return join((turn.prompt_ids, turn.output_ids) for turn in turns)


def of_chat(messages: Sequence[Mapping[str, str]], template: ChatTemplate, encode: Encode, end: int) -> list[Row]:
    """Rows from the words of a dialogue, with the template that the trained model will be served with.

    Args:
        end: id of the token that ends a reply.
    """
    return join(
        (encode(template.render(messages[:place])), [*encode(message["content"]), end])
        for place, message in enumerate(messages)
        if message["role"] == "assistant"
    )


def check_lengths(rows: Sequence[Row], longest: int) -> None:
    """Refuse rows that a trainer would cut, which it does in silence.

    Raises:
        UserError: names the longest row.
    """
    length = max((len(row.ids) for row in rows), default=0)
    if length > longest:
        raise UserError(
            f"a training row of {length} tokens, and the recipe's max_length is {longest}; raise max_length, or lower "
            "rollout.result_tokens or rollout.turns"
        )

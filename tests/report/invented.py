"""Instances and episodes of an invented company, with every character that could leave its place in a page."""

from __future__ import annotations

from fiqkit.records import (
    AnswerVerdict,
    Ending,
    Episode,
    Grade,
    Instance,
    Interpretation,
    Judgement,
    Outcome,
    QuestionVerdict,
    Turn,
)

OUTCOMES = (Outcome.INTENDED, Outcome.DEFAULT, Outcome.OTHER, Outcome.REFUSAL)
NASTY = '</script><b onclick="x">&amp; 净利润 \u2028 $5'


def invented_instance(i: int) -> Instance:
    """The i-th, in English or Chinese."""
    return Instance(
        *(f"t{i}", f"{NASTY} {i}?", "Consolidated.", "$46.75B", "$62.87B"),
        Interpretation("Quillmark consolidated"),
        Interpretation("Pottery segment"),
        *(("entity_scope",), 1.585, "zh" if i % 2 else "en"),
        ticker=f"T{i // 2}",
    )


def invented_episode(model: str, mode: str, i: int) -> tuple[Episode, list]:
    """An episode on the i-th instance and its verdicts: its outcome follows from i."""
    asked = mode == "interact"
    turns = (Turn("interact", {"question": NASTY}, observation="Yes."),) if asked else ()
    turns += (Turn("search", {"query": "q"}, reasoning="hm", observation=NASTY), Turn("answer", {"response": NASTY}))
    ending = {6: Ending.ENGINE_ERROR, 7: Ending.BUDGET}.get(i, Ending.ANSWERED)
    answer = NASTY if ending == Ending.ANSWERED else None
    episode = Episode(
        *(f"t{i}", model, mode, ending, answer, 90.0 if i % 3 else None, turns),
        opening=({"role": "user", "content": NASTY},),
        error="gone" if ending == Ending.ENGINE_ERROR else None,
    )
    outcome = Outcome.UNSCORED if i == 5 else OUTCOMES[i % 4] if asked else Outcome.DEFAULT
    given: list = [AnswerVerdict.of("rules", Grade(outcome, value="$5", why="it says so"))] if answer else []
    if asked:
        given.append(QuestionVerdict("rules", 0, Judgement(("entity_scope",), "entity_scope", "says consolidated")))
    return episode, given

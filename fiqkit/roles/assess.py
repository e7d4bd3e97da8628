"""Putting verdicts on an episode: its final answer graded, its clarifying questions judged.

The one place that does, for a run, for recorded runs graded again, for a reward and for steering. A grader or a judge
that raises costs the verdict that it was asked for, nothing else: the verdict is `unscored`, with the traceback.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import replace

from fiqkit import values
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Verdict
from fiqkit.roles.interfaces import Gold, Grader, Judge

UNSCORED = str(Outcome.UNSCORED)  # the central category of a judgement that could not be had


class Assessor:
    """A grader and a judge at work on finished episodes; leave one out and its verdicts are left out.

    Equal questions are judged once. What could not be judged is not remembered: the same question is tried again.
    """

    def __init__(self, grader: Grader | None = None, judge: Judge | None = None) -> None:
        self.grader = grader
        self.judge = judge
        self._judged: dict[str, Judgement] = {}

    async def __call__(self, episode: Episode, instance: Instance) -> Sequence[Verdict]:
        """All verdicts on one episode."""
        verdicts: list[Verdict] = []
        if self.grader and episode.ending == Ending.ANSWERED:
            grade = await self.grade(instance, episode.answer, enumerates=episode.mode == "enumerate")
            verdicts.append(AnswerVerdict.of(self.grader.name, grade))
        if self.judge:
            for index, turn in enumerate(episode.turns):
                if turn.action == "interact" and turn.refused is None:
                    judgement = await self.classify(turn.content["question"])
                    verdicts.append(QuestionVerdict(self.judge.name, index, judgement))
        return verdicts

    async def grade(self, instance: Instance, answer: str | None, *, enumerates: bool = False) -> Grade:
        """The grader's verdict; where the agent was told to enumerate, also which golds it lists.

        Raises:
            ValueError: there is no grader.
        """
        if self.grader is None:
            raise ValueError("there is no grader to grade with")
        try:
            grade = await self.grader.grade(
                instance.question,
                Gold(instance.answer, instance.intended_interpretation),
                Gold(instance.default_answer, instance.default_interpretation),
                answer,
                instance.language,
            )
        except Exception:
            return Grade(Outcome.UNSCORED, why=traceback.format_exc().strip())
        if not enumerates or grade.outcome == Outcome.UNSCORED:
            return grade
        listed = [values.mentions(answer or "", gold) for gold in (instance.answer, instance.default_answer)]
        covers = {(True, True): ("covers_intended", "covers_both"), (True, False): ("covers_intended",)}
        return replace(grade, flags=(*grade.flags, *covers.get((listed[0], listed[1]), ())))

    async def classify(self, question: str) -> Judgement:
        """The judge's verdict on a question.

        Raises:
            ValueError: there is no judge.
        """
        if self.judge is None:
            raise ValueError("there is no judge to classify with")
        if question in self._judged:
            return self._judged[question]
        try:
            judgement = await self.judge.classify(question)
        except Exception:
            return Judgement((), UNSCORED, traceback.format_exc().strip())
        if judgement.central != UNSCORED:
            self._judged[question] = judgement
        return judgement

"""The first verdicts on an episode: its final answer graded, its clarifying questions judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fiqkit import values
from fiqkit.records import AnswerVerdict, Ending, Episode, Grade, Instance, Judgement, Outcome, QuestionVerdict, Verdict
from fiqkit.roles.interfaces import Gold, Grader, Judge


class Assessor:
    """A grader and a judge at work on finished episodes. Equal questions are judged once."""

    def __init__(self, grader: Grader, judge: Judge) -> None:
        self.grader = grader
        self.judge = judge
        self._judged: dict[str, Judgement] = {}

    async def __call__(self, episode: Episode, instance: Instance) -> Sequence[Verdict]:
        """All verdicts on one episode."""
        verdicts: list[Verdict] = []
        if episode.ending == Ending.ANSWERED:
            grade = await self.grade(instance, episode.answer, enumerates=episode.mode == "enumerate")
            verdicts.append(AnswerVerdict.of(self.grader.name, grade))
        for index, turn in enumerate(episode.turns):
            if turn.action == "interact" and turn.refused is None:
                judgement = await self.classify(turn.content["question"])
                verdicts.append(QuestionVerdict(self.judge.name, index, judgement))
        return verdicts

    async def grade(self, instance: Instance, answer: str | None, *, enumerates: bool = False) -> Grade:
        """The grader's verdict; where the agent was told to enumerate, also which golds it lists."""
        grade = await self.grader.grade(
            instance.question,
            Gold(instance.answer, instance.intended_interpretation),
            Gold(instance.default_answer, instance.default_interpretation),
            answer,
            instance.language,
        )
        if not enumerates or grade.outcome == Outcome.UNSCORED:
            return grade
        listed = [values.mentions(answer or "", gold) for gold in (instance.answer, instance.default_answer)]
        covers = {(True, True): ("covers_intended", "covers_both"), (True, False): ("covers_intended",)}
        return replace(grade, flags=(*grade.flags, *covers.get((listed[0], listed[1]), ())))

    async def classify(self, question: str) -> Judgement:
        """The judge's verdict on a question."""
        if question not in self._judged:
            self._judged[question] = await self.judge.classify(question)
        return self._judged[question]

"""An example of each file, with a word on each field in `_comment`, which nothing reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fiqkit.datasets import write_jsonl
from fiqkit.errors import UserError

INSTANCES: list[dict[str, Any]] = [
    {
        "_comment": {
            "instance_id": "names the instance; differs from all others",
            "question": "what the user asks: names the company, asks for one value, leaves open which",
            "context": "the least that leaves one reading; never holds a value",
            "answer": "the value under that reading, as the filing writes it",
            "default_answer": "the value that the question alone suggests; differs from the answer",
            "intended_interpretation": "the reading: some of entity, period, metric, basis, vintage",
            "default_interpretation": "the reading of the default; differs from it in at least one field",
            "categories": "entity_scope, temporal_scope, metric_definition, recognition_policy, filing_vintage; "
            "the primary one first, at most three",
            "language": "en or zh",
            "passage_id": "the passage that holds both values",
            "intended_evidence_span": "its words for the answer; a missing passage is built from the two",
            "default_evidence_span": "its words for the default",
            "company": "as the question names it",
            "ticker": "instances of one ticker stay together in splits and intervals",
            "orbit": "optional: siblings that share question and passage, each reading intended once",
            "h0": "optional: log2 of the number of plausible readings",
        },
        "instance_id": "acme-2024-net-income",
        "question": "What was Acme Rockets' net income?",
        "context": "The part that belongs to Acme's shareholders, without noncontrolling interests.",
        "answer": "$412 million",
        "default_answer": "$455 million",
        "intended_interpretation": {"entity": "attributable to shareholders", "period": "2024", "metric": "net income"},
        "default_interpretation": {"entity": "consolidated", "period": "2024", "metric": "net income"},
        "categories": ["entity_scope"],
        "language": "en",
        "passage_id": "acme-10k-2024:0012",
        "intended_evidence_span": "Net income attributable to Acme shareholders was $412 million",
        "default_evidence_span": "consolidated net income was $455 million",
        "company": "Acme Rockets",
        "ticker": "ACME",
        "filing_type": "10-K",
        "filing_date": "2025-02-14",
    }
]
PASSAGES: list[dict[str, Any]] = [
    {
        "_comment": {
            "passage_id": "names the passage; two texts never share one",
            "text": "what a search finds and shows",
            "company": "with ticker, form, period and filed: the line that stands over each piece of the text",
            "period": "last day that the filing reports on, YYYY-MM-DD",
            "filed": "day of filing, YYYY-MM-DD",
            "language": "en or zh",
        },
        "passage_id": "acme-10k-2024:0012",
        "text": "In 2024 consolidated net income was $455 million. Net income attributable to Acme shareholders was "
        "$412 million; noncontrolling interests took $43 million. Revenue rose to $5,120 million.",
        "company": "Acme Rockets",
        "ticker": "ACME",
        "form": "10-K",
        "period": "2024-12-31",
        "filed": "2025-02-14",
        "language": "en",
    }
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "_comment": {
            "question": "a clarifying question, as an agent would ask it",
            "touched": "every category that it raises, [] for none, null where it is not ruled",
            "central": "the one it is most about, or generic, or none",
        },
        "id": "q001",
        "language": "en",
        "question": "Do you mean the part that belongs to Acme's shareholders?",
        "touched": ["entity_scope"],
        "central": "entity_scope",
    }
]
FILES = {"instances.jsonl": INSTANCES, "passages.jsonl": PASSAGES, "questions.jsonl": QUESTIONS}


def write_template(folder: Path) -> list[Path]:
    """Write an example of each file into a folder; nothing that is there is overwritten.

    Raises:
        UserError: one of the files is there already, or the folder cannot be written.
    """
    paths = [folder / name for name in FILES]
    for path in paths:
        if path.exists():
            raise UserError(f"{path}: is there already; name an empty folder")
    try:
        for path in paths:
            write_jsonl(path, FILES[path.name])
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error}); name another folder") from error
    return paths

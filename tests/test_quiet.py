"""Other libraries are kept off the terminal; their errors and this kit's own words are not."""

import os
import subprocess
import sys

from fiqkit.quiet import VARIABLES

SCRIPT = """
import logging, warnings
from fiqkit.quiet import quiet
quiet()
quiet()
logging.getLogger("bitsandbytes.backends.cpu.ops").warning("Failed to load CPU gemm_4bit_forward")
logging.getLogger("matplotlib.font_manager").warning("Matplotlib is building the font cache")
warnings.warn("a flag that peft still reads", FutureWarning)
logging.getLogger("asyncio").error("Task exception was never retrieved")
logging.getLogger("fiqkit.models.served.pool").warning("http://x: answers again")
from tqdm.auto import tqdm
list(tqdm([1, 2]))
"""


def said(environment: dict[str, str]) -> list[str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    return done.stderr.splitlines()


def test_chatter_is_dropped_and_errors_and_our_own_lines_stay() -> None:
    quiet = said({**os.environ, "FIQKIT_NOISE": ""})
    assert quiet == ["Task exception was never retrieved", "fiqkit: http://x: answers again"]
    as_found = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    assert len(said({**as_found, "FIQKIT_NOISE": "1", "PYTHONWARNINGS": "default"})) >= 6

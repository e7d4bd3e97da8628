"""Model and tokenizer out of a folder, by transformers: from safetensors or GGUF alone, without code that comes with
the model, and with every tensor of the architecture out of the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fiqkit.errors import UserError


def load_model(who: str, folder: Path, **options: Any) -> Any:
    """A causal language model.

    Args:
        who: whose it is, for messages.
        options: further ones of transformers' `from_pretrained`.

    Raises:
        UserError: cut, damaged, of an unknown architecture, or without a tensor that the architecture has: transformers
            would draw that one at random and say so in its log alone.
        ImportError: an option needs a package that is not installed.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # whatever a library makes of a damaged file
        raise UserError(f"{who}: transformers cannot load {folder}: {first_line(error)}") from error
    model, loading = loaded
    if missing := sorted(loading["missing_keys"]):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"{who}: {folder} lacks the tensor {missing[0]}{more}; fetch the weights again")
    return model


def load_tokenizer(who: str, folder: Path, **options: Any) -> Any:
    """The tokenizer of a folder.

    Raises:
        UserError: there is none, or a damaged one.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)
    except Exception as error:  # whatever a library makes of a damaged file
        raise UserError(
            f"{who}: no tokenizer can be read at {folder}, copy its files too ({first_line(error)})"
        ) from error


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__).strip()

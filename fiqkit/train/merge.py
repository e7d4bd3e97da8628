"""An adapter added to its base for good: a folder of weights that every engine loads as a model of its own."""

from __future__ import annotations

import json
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.weights import to_transformers
from fiqkit.models.checkpoint import load_model, load_tokenizer
from fiqkit.models.checks.adapters import RECORD, check_base, read_record, template_of
from fiqkit.train.model import need_training
from fiqkit.whole_file import write_text


def merge(adapter: Path, base: Card, out: Path) -> Path:
    """Write base + adapter into the folder `out`, with the tokenizer and the template that it was trained with.

    The base is loaded in its own precision, not in the 4 bits that it may have been trained in.

    Raises:
        UserError: no adapter, one for another base, weights that are missing, or a folder that holds a model already.
        MissingExtra: a package of the extra `train` is not installed.
    """
    record = read_record(adapter)
    if adapter.is_file():
        raise UserError(f"{adapter}: a GGUF adapter cannot be merged; give the folder that it was made of")
    if (out / "config.json").exists():
        raise UserError(f"{out}: holds a model already; give another folder")
    need_training()
    folder = to_transformers(base)
    check_base(adapter, base.name, folder)
    from peft import PeftModel

    tokenizer = load_tokenizer(base.name, folder)
    model = load_model(base.name, folder, dtype="auto")
    try:
        merged = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (RuntimeError, ValueError, KeyError) as error:
        first = " ".join(str(error).split())[:160]
        raise UserError(f"{adapter}: does not fit {base.name}, it is for another base ({first})") from None
    if source := template_of(adapter):
        tokenizer.chat_template = source
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(str(out))
    merged.save_pretrained(str(out))
    write_text(out / RECORD, json.dumps({**record, "merged": True}, ensure_ascii=False, indent=1))
    return out

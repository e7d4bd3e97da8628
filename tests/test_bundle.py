"""A bundle carries only what is safe to read, says when it is damaged, and its bill of materials is valid."""

import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fiqkit.bundle import folder
from fiqkit.bundle.folder import Contents, verify, write
from fiqkit.bundle.weights import cards_file, check_header, of_card
from fiqkit.bundle.wheels import Target, needed
from fiqkit.errors import UserError
from fiqkit.models.cards.cards import Card, find_card, read_cards


def safetensors(path: Path, header: bytes | None = None, data: bytes = bytes(4)) -> Path:
    header = (
        json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode() if header is None else header
    )
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def wheel(path: Path, name: str = "quill", version: str = "1.2") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n"
        archive.writestr(f"{name}-{version}.dist-info/METADATA", text)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Card:
    place = tmp_path / "model"
    place.mkdir()
    safetensors(place / "model.safetensors")
    (place / "config.json").write_text("{}")
    (place / "LICENSE").write_text("free")
    (place / "optimizer.pt").write_bytes(b"pickle")
    return Card("own", "transformers", str(place), license="MIT")


@pytest.fixture
def bundle(tmp_path: Path, model: Card, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole bundle but for pip's part, which one slow walk in the documents covers."""

    def fetched(place: Path, *_: object) -> None:
        place.mkdir(parents=True, exist_ok=True)
        wheel(place / "quill-1.2-py3-none-any.whl")

    monkeypatch.setattr(folder, "fetch", fetched)
    out = tmp_path / "usb"
    write(out, Contents(cards=(model,)), lambda line: None)
    return out


def test_a_bundle_holds_what_it_says(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert verify(bundle) == len(manifest["files"]) + 1  # the manifest itself
    assert {"install.sh", "sbom.json", "constraints.txt", "cards.toml"} <= set(manifest["files"])
    assert {path for path in manifest["files"] if path.startswith("weights/")} == {
        "weights/own/model.safetensors",
        "weights/own/config.json",
        "weights/own/LICENSE",
    }
    assert manifest["weights"] == {"own": {"license": "MIT"}}


def test_the_bill_of_materials_has_a_hash_for_every_wheel_and_weight(bundle: Path) -> None:
    components = {c["bom-ref"]: c for c in json.loads((bundle / "sbom.json").read_text())["components"]}
    quill = components["wheels/quill-1.2-py3-none-any.whl"]
    assert (quill["name"], quill["version"], quill["purl"]) == ("quill", "1.2", "pkg:pypi/quill@1.2")
    assert quill["licenses"] == [{"license": {"name": "MIT"}}]
    weight = components["weights/own/model.safetensors"]
    assert weight["type"] == "machine-learning-model"
    sums = dict(reversed(line.split("  ")) for line in (bundle / "SHA256SUMS").read_text().splitlines())
    assert all(c["hashes"] == [{"alg": "SHA-256", "content": sums[ref]}] for ref, c in components.items())


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda out: (out / "cards.toml").write_text("x"), "cards.toml was changed"),
        (lambda out: (out / "weights/own/model.safetensors").unlink(), "model.safetensors is missing"),
        (lambda out: (out / "wheels/evil-1-py3-none-any.whl").write_text(""), "evil-1-py3-none-any.whl was added"),
        (lambda out: (out / "SHA256SUMS").unlink(), "no finished bundle"),
    ],
)
def test_damage_is_named(bundle: Path, harm: object, what: str) -> None:
    harm(bundle)  # type: ignore[operator]
    with pytest.raises(UserError, match=what):
        verify(bundle)


def test_the_installer_checks_every_hash_before_it_does_anything(bundle: Path, tmp_path: Path) -> None:
    (bundle / "cards.toml").write_text("x")
    done = subprocess.run(["sh", str(bundle / "install.sh"), str(tmp_path / "env")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "damaged; nothing was installed" in done.stderr
    assert not (tmp_path / "env").exists()


def test_the_installer_wants_the_python_that_the_wheels_are_for(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(other)}
    command = ["sh", str(bundle / "install.sh"), str(tmp_path / "env")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert f"Python {Target().python} is needed" in done.stderr


def test_an_interrupted_bundle_does_not_pass_for_a_whole_one(
    bundle: Path, model: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "fetch", no_disk)
    with pytest.raises(UserError, match="No space left"):
        write(bundle, Contents(cards=(model,)), lambda line: None)
    with pytest.raises(UserError, match="no finished bundle"):
        verify(bundle)


def test_the_cards_of_a_bundle_find_their_weights_beside_them(bundle: Path) -> None:
    card = read_cards(bundle / "cards.toml")["own"]
    assert (Path(card.weights) / "model.safetensors").is_file()
    assert card.license == "MIT"


def test_weights_inside_a_wheel_travel_with_it() -> None:
    assert of_card(find_card("smollm2-135m")) == []
    assert cards_file([find_card("smollm2-135m")]) == ""


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(UserError, match=r"pytorch_model\.bin is a pickle, whose reading could run code"):
        of_card(Card("own", "transformers", str(tmp_path)))


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (b"", b""),
        (b"{", bytes(4)),
        (b"[]", bytes(4)),
        (b'{"w": 3}', bytes(4)),
        (b'{"w": {"data_offsets": [0, 4]}}', bytes(3)),
        (b'{"w": {"data_offsets": [0, "4"]}}', bytes(4)),
        (b"[" * 100_000, bytes(4)),
    ],
)
def test_a_damaged_safetensors_header_is_one_line(tmp_path: Path, header: bytes, data: bytes) -> None:
    with pytest.raises(UserError, match=r"m\.safetensors: the (safetensors header|file) .*fetch"):
        check_header(safetensors(tmp_path / "m.safetensors", header, data))


def test_a_header_as_long_as_it_says_it_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
    with pytest.raises(UserError, match="cut or damaged"):
        check_header(path)


def test_what_the_extras_bring() -> None:
    assert "llama-cpp-python" in needed(["local"])
    assert "llama-cpp-python" not in needed([])
    assert "click" in needed([])


def test_wheels_for_an_older_c_library_fit_too() -> None:
    assert Target(glibc=18).platforms[:3] == ["manylinux_2_18_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"]
    assert Target().platforms[-1] == "linux_x86_64"


@pytest.mark.parametrize("arguments", [["--models", "nosuch"], ["--python", "2.7"], ["--verify"]])
def test_bad_input_is_one_line_and_writes_nothing(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "fiqkit", "bundle", str(tmp_path / "out"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()

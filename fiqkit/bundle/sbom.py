"""The software bill of materials: CycloneDX 1.6 JSON, validated, with a hash for every wheel and every weight."""

from __future__ import annotations

import zipfile
from email import message_from_string
from pathlib import Path
from typing import Any

from fiqkit.errors import UserError, need


def sbom(out: Path, digests: dict[str, str], licenses: dict[str, str]) -> str:
    """The bill for the files of a bundle.

    Args:
        digests: path in the bundle → sha256.
        licenses: card → licence of its weights.

    Raises:
        MissingExtra: cyclonedx-python-lib is not installed.
        UserError: a wheel that cannot be read, or a bill that is not valid.
    """
    need("the bill of materials", "bundle", "cyclonedx")
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense
    from cyclonedx.output.json import JsonV1Dot6
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    def licence(name: str) -> list[Any]:
        return [DisjunctiveLicense(name=name)] if name else []

    bom = Bom()
    for path, digest in sorted(digests.items()):
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest)]
        if path.endswith(".whl"):
            about = _metadata(out / path)
            name, version = about["Name"], about["Version"]
            component = Component(
                type=ComponentType.LIBRARY,
                name=name,
                version=version,
                purl=PackageURL("pypi", name=name.lower(), version=version),
                hashes=hashes,
                licenses=licence(about.get("License-Expression") or (about.get("License") or "")[:80]),
                bom_ref=path,
            )
        elif path.startswith("weights/"):
            card = path.split("/")[1]
            component = Component(
                type=ComponentType.MACHINE_LEARNING_MODEL,
                name=path,
                hashes=hashes,
                licenses=licence(licenses.get(card, "")),
                bom_ref=path,
            )
        else:
            component = Component(type=ComponentType.FILE, name=path, hashes=hashes, bom_ref=path)
        bom.components.add(component)
    text: str = JsonV1Dot6(bom).output_as_string(indent=1)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        raise UserError(f"the bill of materials is not valid CycloneDX 1.6: {fault}")
    return text


def _metadata(wheel: Path) -> Any:
    try:
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return message_from_string(archive.read(name).decode("utf-8", "replace"))
    except (OSError, zipfile.BadZipFile, StopIteration) as error:
        raise UserError(f"{wheel}: not a wheel ({error}); delete it and call `fiqkit bundle` again") from None

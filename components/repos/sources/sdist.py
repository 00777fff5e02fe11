"""A source distribution from the package index that the user's pip is set up for."""

import hashlib
from pathlib import Path

from packaging.version import InvalidVersion, Version

from components.records.errors import ConfigError
from components.records.repository import Source
from components.repos.archive import extract
from components.repos.index import PipConfiguration, fetch, find_sdist


def fetch_sdist(source: Source, version: str, key: str, cache: Path, scratch: Path) -> Path:
    """Extract the sdist with the pinned sha256 into a folder below `scratch`.

    `cache` holds one file per sha256, so a second time needs no network.
    """
    archive = cache / f"{source.pin or 'unpinned'}.sdist"
    if not archive.exists() or _sha256(archive.read_bytes()) != source.pin:
        try:
            wanted = Version(version)
        except InvalidVersion as error:
            raise ConfigError(
                f"{key}.version", version, "a version of a Python package, e.g. 1.2.0"
            ) from error
        pip = PipConfiguration.read()
        url = find_sdist(pip, source.location, wanted)
        data = fetch(pip, url)
        _check(source, key, url.rsplit("/", 1)[-1], _sha256(data))
        (scratch / "download").write_bytes(data)
        archive.parent.mkdir(parents=True, exist_ok=True)
        (scratch / "download").rename(archive)
    extract(archive, scratch / "files")
    return scratch / "files"


def _check(source: Source, key: str, name: str, found: str) -> None:
    if not source.pin:
        hint = f"that is the sha256 of {name}; write it down if you trust it"
        raise ConfigError(f"{key}.pin", "", found, hint)
    if found != source.pin:
        hint = f"{name} is not the file that was pinned; check where it comes from"
        raise ConfigError(f"{key}.pin", source.pin, found, hint)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

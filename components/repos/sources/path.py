"""A folder of this machine."""

from pathlib import Path

from components.records.errors import ConfigError
from components.records.repository import Source


def local_folder(source: Source, key: str) -> Path:
    """The folder that a source means; a relative one starts where the command was run."""
    folder = Path(source.location).expanduser().absolute()
    if not folder.is_dir():
        raise ConfigError(f"{key}.location", source.location, "a folder that exists")
    return folder


def check_pin(source: Source, key: str, found: str) -> None:
    """Refuse a folder that is not what was pinned."""
    if found != source.pin:
        hint = "the files are not those that were pinned; write this digest down if they are meant to be new"
        raise ConfigError(f"{key}.pin", source.pin, found, hint)

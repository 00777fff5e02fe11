"""What a DVC remote really holds, seen without DVC, which trusts its index and the remote's `.dir` files."""

import os
from collections.abc import Sequence
from pathlib import Path

from components.records.errors import InfrastructureError
from components.store.objects import LocalObjects, ObjectStore
from components.store.s3 import S3Objects


class RemoteIncomplete(InfrastructureError):
    """The remote lacks objects, or holds them with other bytes: nothing may point at them."""

    def __init__(self, dataset: str, url: str, objects: Sequence[str]) -> None:
        self.objects = tuple(objects)
        super().__init__(
            f"{dataset}: {url} lacks or damages {len(objects)} of its objects, first {objects[0]}; "
            "no tag points at it: publish it again to push them"
        )


class Remote:
    """A DVC remote: objects named by the md5 of their content."""

    def __init__(self, url: str | Path, cache: Path, endpoint_url: str | None = None) -> None:
        self._settings = {}
        self._objects: ObjectStore
        if "://" in str(url):
            endpoint_url = endpoint_url or os.environ.get("AWS_ENDPOINT_URL") or None
            self._objects = S3Objects(str(url), cache, endpoint_url=endpoint_url)
            if endpoint_url:
                self._settings["endpointurl"] = endpoint_url
        else:
            self._objects = LocalObjects(Path(url).absolute())
        self.url = self._objects.url

    def settings(self) -> dict[str, str]:
        """Its section in DVC's configuration."""
        return {"url": self.url, **self._settings}

    def read(self, md5: str) -> bytes | None:
        """The bytes of an object; None if it is not there or they do not have that md5."""
        return self._objects.read(_name(md5)) if self.holds(md5) else None

    def holds(self, md5: str) -> bool:
        """True if the object is there and its bytes have that md5 (of a `.dir`, without the suffix)."""
        return self._objects.md5(_name(md5)) == md5.removesuffix(".dir")

    def delete(self, md5: str) -> None:
        """Delete an object."""
        self._objects.delete(_name(md5))


def _name(md5: str) -> str:
    return f"files/md5/{md5[:2]}/{md5[2:]}"

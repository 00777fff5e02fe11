"""The store: datasets by digest, the stage cache by key, and named pointers.

- `manifests/<key>.json`: one run of a stage; written last, so it is the commit.
- `datasets/<digest>/`: `manifest.json` of the run that made it first, `tables/`, `files/`.
- `evidence/<digest>/`: what two runs with the same result have each their own of.
- `pointers/<name>`: a digest.
"""

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filelock import FileLock, Timeout

from components.records.errors import CorruptionError, InputError
from components.store.dataset import Dataset
from components.store.digests import sha256_bytes
from components.store.manifest import EVIDENCE, Manifest, dump_manifest, load_manifest
from components.store.objects import LocalObjects, ObjectStore
from components.store.s3 import S3Objects
from components.store.workspace import Workspace

log = logging.getLogger(__name__)

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Store:
    """A local folder or `s3://bucket/prefix`. Unfinished work, locks and caches are in the workspace."""

    def __init__(
        self,
        where: Workspace | Path | str,
        *,
        workspace: Workspace | None = None,
        endpoint_url: str | None = None,
    ) -> None:
        self.workspace = where if isinstance(where, Workspace) else workspace or Workspace()
        self.objects: ObjectStore
        if isinstance(where, str) and "://" in where:
            self.objects = S3Objects(where, self.workspace.cache / "store", endpoint_url=endpoint_url)
        else:
            self.objects = LocalObjects(
                where.store if isinstance(where, Workspace) else Path(where).absolute()
            )

    def lookup(self, key: str) -> Dataset | None:
        """The dataset of a stage key; None if there is none or some of its files are gone.

        Raises:
            CorruptionError: A file is not what its digest says.
        """
        data = self.objects.read(f"manifests/{key}.json")
        if data is None:
            return None
        dataset = self._dataset(key, data)
        if gone := dataset.missing():
            log.warning("%r lacks %s: it will be made again", dataset, ", ".join(gone))
            return None
        if self.objects.local:
            dataset.verify()
        return dataset

    def get(self, digest_or_prefix: str) -> Dataset:
        """The dataset with a digest, or the only one whose digest begins so. Files are checked when read."""
        found = self.objects.children("datasets", digest_or_prefix)
        if len(found) != 1 or not digest_or_prefix:
            what = "no dataset has" if not found else f"{len(found)} datasets have"
            raise InputError(f"{self.objects.url}: {what} a digest beginning with {digest_or_prefix!r}")
        name = f"datasets/{found[0]}/manifest.json"
        where = self.objects.locate(name)
        data = self.objects.read(name)
        if data is None:
            raise CorruptionError(where, "of a manifest", "nothing")
        manifest = load_manifest(data, where)
        if manifest.digest != found[0]:
            raise CorruptionError(where, found[0], manifest.digest)
        return Dataset(manifest, self.objects)

    def all(self) -> list[Manifest]:
        """Every run of every stage, oldest first."""
        names = [f"manifests/{name}" for name in self.objects.children("manifests")]
        with ThreadPoolExecutor(8) as pool:
            contents = pool.map(self.objects.read, names)
        manifests = [
            load_manifest(data, self.objects.locate(name))
            for name, data in zip(names, contents, strict=True)
            if data is not None
        ]
        return sorted(manifests, key=lambda m: (m.started, m.key))

    def verify(self, digest: str) -> None:
        """Read every byte of a dataset, its manifest included, and compare.

        Raises:
            CorruptionError: Names the first file that is not what its digest says.
        """
        self.get(digest).verify()

    def publish(self, manifest: Manifest, folder: Path) -> Dataset:
        """Make a finished folder a dataset; if another run published the key meanwhile, that one counts."""
        data = dump_manifest(manifest)
        (folder / "manifest.json").write_bytes(data)
        files = {file.path: file.sha256 for file in manifest.files}
        files["manifest.json"] = sha256_bytes(self._first_manifest(manifest.digest) or data)
        evidence = {path: files.pop(path) for path in [*files] if path.startswith(EVIDENCE)}
        if evidence:
            inside = {path.removeprefix(EVIDENCE): sha256 for path, sha256 in evidence.items()}
            self.objects.publish(f"evidence/{manifest.evidence}", folder / EVIDENCE, inside)
        self.objects.publish(f"datasets/{manifest.digest}", folder, files)
        name = f"manifests/{manifest.key}.json"
        if not self.objects.write(name, data, only_new=True):
            return self._dataset(manifest.key, self.objects.read(name) or b"")
        return Dataset(manifest, self.objects)

    def forget(self, key: str) -> None:
        """Take a run out of the stage cache."""
        self.objects.delete(f"manifests/{key}.json")

    def set_pointer(self, name: str, digest: str) -> None:
        """Point a name, e.g. `iterations/0001`, at a dataset that is there."""
        self.objects.write(f"pointers/{name}", (self.get(digest).digest + "\n").encode())

    def pointer(self, name: str) -> str | None:
        """The digest that a name points at."""
        data = self.objects.read(f"pointers/{name}")
        if data is None:
            return None
        text = data.decode(errors="replace").strip()
        if not _DIGEST.fullmatch(text):
            raise CorruptionError(self.objects.locate(f"pointers/{name}"), "of a pointer", sha256_bytes(data))
        return text

    def pointers(self, folder: str) -> dict[str, str]:
        """Pointers right under a folder, e.g. `iterations`, by their last name, sorted."""
        found = {
            name: self.pointer(f"{folder}/{name}") for name in self.objects.children(f"pointers/{folder}")
        }
        return {name: digest for name, digest in found.items() if digest}

    def lock(self, key: str) -> FileLock:
        """Acquired: this process alone works on a key."""
        self.workspace.locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.workspace.locks / f"{key}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.info("another process works on %s: waiting for it", key[:12])
            lock.acquire()
        return lock

    def _dataset(self, key: str, data: bytes) -> Dataset:
        name = self.objects.locate(f"manifests/{key}.json")
        manifest = load_manifest(data, name)
        if manifest.key != key:
            raise CorruptionError(name, key, manifest.key)
        return Dataset(manifest, self.objects)

    def _first_manifest(self, digest: str) -> bytes | None:
        """The manifest of the run that made a dataset first, if it is there and whole."""
        name = f"datasets/{digest}/manifest.json"
        data = self.objects.read(name)
        try:
            return data if data and load_manifest(data, name).digest == digest else None
        except CorruptionError:
            return None

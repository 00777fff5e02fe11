"""The DVC ledger: published datasets, versioned in a data repository of its own and pushed to a remote.

One folder a published run (`datasets/<stage>-<digest>.<key>`), one file an iteration (`iterations/0001.json`),
one tag an iteration (`iter/0001`). A tag moves only after every object of its datasets was looked at on the
remote.

DVC and git run as subprocesses with a time-out, under a lock of ours that they inherit: when a publisher is
killed, the next one waits for what it left running, and only then clears away the locks that it left behind.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from components.records.errors import CorruptionError, InputError
from components.store.commands import Commands
from components.store.dataset import Dataset
from components.store.digests import md5_bytes, md5_file, sha256_file
from components.store.manifest import dump_manifest, load_manifest
from components.store.remote import Remote, RemoteIncomplete
from components.store.space import no_space_named
from components.store.store import Store
from components.store.workspace import Workspace

_SETTINGS = """\
[core]
    analytics = false
    check_update = false
    autostage = false
    remote = store
[cache]
    type = "reflink,hardlink,copy"
['remote "store"']
"""


class Ledger:
    """The data repository under a workspace and its remote: a folder, or `s3://bucket/prefix`."""

    def __init__(
        self,
        workspace: Workspace,
        remote: str | Path,
        *,
        endpoint_url: str | None = None,
        timeout: float = 3600,
    ) -> None:
        self.folder = workspace.data
        self._lock = workspace.locks / "data.lock"
        self._remote = Remote(remote, workspace.cache / "remote", endpoint_url)
        self._cache = Remote(self.folder / ".dvc" / "cache", workspace.cache)
        self._commands = Commands(self.folder, timeout)

    def publish(self, datasets: Mapping[str, Dataset], *, iteration: int | None = None) -> str:
        """Track, commit, push and verify datasets; then, if an iteration is given, point its tag at them.

        Args:
            datasets: By the name that they have in the iteration.
            iteration: Its number.

        Returns:
            The commit.

        Raises:
            RemoteIncomplete: The remote lacks an object, even after what it lacked was pushed again.
        """
        with self._exclusive():
            self._track(list(datasets.values()))
            self._push(list(datasets.values()))
            try:
                self._verify(list(datasets.values()))
            except RemoteIncomplete:
                self._repair(list(datasets.values()))
            return self._point(datasets, iteration)

    def verify(self, datasets: Sequence[Dataset]) -> None:
        """Look at every object of the datasets on the remote.

        Raises:
            RemoteIncomplete: Names what is missing or not what it should be.
        """
        with self._exclusive():
            self._verify(datasets)

    def repair(self, datasets: Sequence[Dataset]) -> None:
        """Push again what the remote lacks, and verify."""
        with self._exclusive():
            self._repair(datasets)

    def tag(self, datasets: Mapping[str, Dataset], iteration: int) -> str:
        """Verify, then point an iteration's tag at the datasets; refused if the remote lacks anything."""
        with self._exclusive():
            self._verify(list(datasets.values()))
            return self._point(datasets, iteration)

    def iteration(self, number: int) -> dict[str, str]:
        """Name to dataset digest of a tagged iteration."""
        text = self._commands.git("show", f"iter/{number:04d}:iterations/{number:04d}.json")
        return {name: str(entry["digest"]) for name, entry in json.loads(text).items()}

    def restore(self, digest: str, store: Store) -> Dataset:
        """Pull a dataset, of every run that made it, and put into the store whatever that lacks."""
        with self._exclusive():
            found = sorted((self.folder / "datasets").glob(f"*-{digest}*.dvc"))
            if len({path.name.split(".")[0] for path in found}) != 1:
                raise InputError(f"{self.folder}: no single dataset with a digest beginning with {digest!r}")
            self._commands.dvc(
                "pull", "--force", *(path.relative_to(self.folder).as_posix() for path in found)
            )
            restored = [self._restored(path.with_suffix(""), store) for path in found]
            return restored[0]

    def _restored(self, folder: Path, store: Store) -> Dataset:
        path = folder / "manifest.json"
        manifest = load_manifest(path.read_bytes(), path)
        for file in manifest.files:
            if (sha256 := sha256_file(folder / file.path)) != file.sha256:
                raise CorruptionError(folder / file.path, file.sha256, sha256)
        return store.publish(manifest, folder)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        with no_space_named(self.folder), self._commands.exclusive(self._lock):
            self._prepare()
            yield

    def _prepare(self) -> None:
        """Make the repository, or make its settings what they should be."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / ".dvc" / "config"
        if not config.exists():
            self._commands.git("init", "--quiet", "--initial-branch", "main")
            self._commands.dvc("init", "--force", "--quiet")
        wanted = _SETTINGS + "".join(
            f"    {name} = {value}\n" for name, value in self._remote.settings().items()
        )
        if config.read_text() != wanted:
            config.write_text(wanted)
            self._commit("Settings", ".dvc", ".dvcignore")

    def _track(self, datasets: Sequence[Dataset]) -> None:
        """Copy into the repository what is not there or not in DVC's cache, add it to DVC and commit."""
        committed = self._commands.git("ls-tree", "--name-only", "HEAD", "datasets/").split()
        new = [
            dataset
            for dataset in datasets
            # A run that was made again has another manifest, and perhaps other evidence.
            if f"{self._target(dataset)}.dvc" not in committed or self._bad_objects(dataset, self._cache)
        ]
        if not new:
            return
        for dataset in new:
            self._place(dataset)
        targets = [self._target(dataset) for dataset in new]
        self._commands.dvc("add", *targets)
        pointers = [f"{name}.dvc" for name in targets]
        self._commit(f"Add {', '.join(targets)}", "datasets/.gitignore", *pointers)

    def _place(self, dataset: Dataset) -> None:
        folder = self.folder / self._target(dataset)
        part = folder.with_name(f".{folder.name}")
        for left in (part, folder):
            shutil.rmtree(left, ignore_errors=True)
        for file in dataset.manifest.files:
            target = part / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = dataset.file(file.path)  # checked against its sha256
            try:
                os.link(source, target)
            except OSError:
                shutil.copyfile(source, target)
        part.mkdir(parents=True, exist_ok=True)
        (part / "manifest.json").write_bytes(dump_manifest(dataset.manifest))
        part.rename(folder)

    def _push(self, datasets: Sequence[Dataset]) -> None:
        self._commands.dvc("push", *(f"{self._target(dataset)}.dvc" for dataset in datasets))

    def _verify(self, datasets: Sequence[Dataset]) -> None:
        for dataset in datasets:
            if bad := self._bad_objects(dataset, self._remote):
                raise RemoteIncomplete(self._target(dataset), self._remote.url, bad)

    def _bad_objects(self, dataset: Dataset, where: Remote) -> list[str]:
        """Objects of a dataset that the remote (or DVC's cache) lacks or holds with other content."""
        whole = self._object(dataset)
        listing = where.read(whole)
        if listing is None:
            return [whole]
        children = {child["relpath"]: child["md5"] for child in json.loads(listing)}
        ours = {file.path: md5_file(dataset.file(file.path)) for file in dataset.manifest.files}
        ours["manifest.json"] = md5_bytes(dump_manifest(dataset.manifest))
        if children != ours:
            return [whole]
        return sorted(md5 for md5 in set(children.values()) if not where.holds(md5))

    def _repair(self, datasets: Sequence[Dataset]) -> None:
        """DVC takes a `.dir` on the remote as proof that its children are there: it has to go first."""
        self._track(datasets)  # the cache may have lost what the remote has lost
        for dataset in datasets:
            bad = self._bad_objects(dataset, self._remote)
            for name in {*bad, self._object(dataset)} if bad else ():
                self._remote.delete(name)
        self._commands.forget_remote_index()
        self._push(datasets)
        self._verify(datasets)

    def _point(self, datasets: Mapping[str, Dataset], iteration: int | None) -> str:
        if iteration is not None:
            name = f"iterations/{iteration:04d}.json"
            entries = {
                name: {"digest": dataset.digest, "path": self._target(dataset), "md5": self._object(dataset)}
                for name, dataset in sorted(datasets.items())
            }
            (self.folder / "iterations").mkdir(exist_ok=True)
            (self.folder / name).write_text(json.dumps(entries, indent=1) + "\n")
            self._commit(f"Iteration {iteration:04d}", name)
            self._commands.git("tag", "--force", f"iter/{iteration:04d}")
        return self._commands.git("rev-parse", "HEAD").strip()

    def _commit(self, message: str, *paths: str) -> None:
        self._commands.git("add", "--", *paths)
        if self._commands.git("diff", "--cached", "--name-only"):
            self._commands.git("commit", "--quiet", "--message", message)

    def _target(self, dataset: Dataset) -> str:
        """One folder a run: two runs with one dataset have each their own manifest and evidence."""
        return f"datasets/{dataset.manifest.stage}-{dataset.digest}.{dataset.manifest.key[:12]}"

    def _pointer(self, dataset: Dataset) -> Path:
        return self.folder / f"{self._target(dataset)}.dvc"

    def _object(self, dataset: Dataset) -> str:
        if not self._pointer(dataset).exists():
            raise InputError(f"{self._pointer(dataset)}: not published")
        return str(yaml.safe_load(self._pointer(dataset).read_text())["outs"][0]["md5"])

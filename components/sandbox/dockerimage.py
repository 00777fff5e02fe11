"""Images that hold a pristine repository: the base image plus one layer, made once per tree."""

import contextlib
import hashlib
import io
import json
import socket
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from docker import DockerClient
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image

from components.records.errors import ConfigError
from components.sandbox.base import Tree
from components.sandbox.dockerexec import AGENT
from components.sandbox.host import ETC

TREE_LABEL = "flywheel.tree"
_FOLDER_LABEL = "flywheel.tree.folder"
_HOST_LABEL = "flywheel.tree.host"
_REPOSITORY = "flywheel-tree"


def tree_image(
    client: DockerClient, base: str, tree: Tree, prefixes: Sequence[Path], labels: dict[str, str]
) -> Image:
    """The image of a tree's repository on a base image.

    Args:
        client: The daemon.
        base: Name of the base image.
        tree: The tree.
        prefixes: Where interpreters will be mounted; folders on the way there must be open to all.
        labels: Of the container that it takes to make one, so that it is collected if we die meanwhile.

    Raises:
        ConfigError: There is no such base image.
    """
    try:
        parent = client.images.get(base)
    except ImageNotFound:
        hint = "make it with infra/docker-base.sh, or name one that `docker images` shows"
        raise ConfigError("sandbox.docker_image", base, "an image on this machine", hint) from None
    found = tree.repo.stat()
    # The digest says what the content should be; the rest says that this is still that folder.
    here = (tree.repo.resolve(), found.st_dev, found.st_ino, found.st_ctime_ns)
    tag = hashlib.sha256(
        repr((parent.id, tree.digest, *map(str, here), *map(str, prefixes))).encode()
    ).hexdigest()[:32]
    try:
        return client.images.get(f"{_REPOSITORY}:{tag}")
    except ImageNotFound:
        pass
    container = client.containers.create(base, ["/bin/true"], network_mode="none", labels=labels)
    try:
        with tempfile.TemporaryFile() as file:
            _pack(tree, prefixes, file)
            file.seek(0)
            container.put_archive("/", file)
        about = {TREE_LABEL: tag, _FOLDER_LABEL: str(tree.repo.resolve()), _HOST_LABEL: socket.gethostname()}
        changes = [f"LABEL {name}={json.dumps(value)}" for name, value in about.items()]
        container.commit(repository=_REPOSITORY, tag=tag, changes=changes)
    finally:
        container.remove(force=True)
    return client.images.get(f"{_REPOSITORY}:{tag}")


def collect_images(client: DockerClient) -> None:
    """Remove the images of trees that this machine no longer has, by label only."""
    # The plain list, which does not ask again for each image that another process may just be removing.
    for image in client.api.images(filters={"label": TREE_LABEL}):
        labels = image.get("Labels") or {}
        if (
            labels.get(_HOST_LABEL) == socket.gethostname()
            and not Path(labels.get(_FOLDER_LABEL, "/")).is_dir()
        ):
            with contextlib.suppress(APIError):  # in use, or gone
                client.images.remove(image["Id"])


def _pack(tree: Tree, prefixes: Sequence[Path], file: IO[bytes]) -> None:
    def own(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = AGENT
        member.uname = member.gname = ""
        special = not (member.isreg() or member.isdir() or member.issym() or member.islnk())
        return None if special else member

    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted({str(parent)[1:] for prefix in prefixes for parent in prefix.parents[:-1]}):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for name in ("passwd", "group"):
            # The names that the other sandboxes show, whatever the base image has.
            text = (ETC / name).read_text().replace("1000", str(AGENT)).encode()
            member = tarfile.TarInfo(f"etc/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
        tar.add(tree.repo, arcname="repo", filter=own)

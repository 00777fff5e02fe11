"""Getting the files of a pinned version: one module per kind of source.

A pin is the sha256 of an sdist, the commit of a git repository, or the digest of the tree of a local folder.
What comes out is the same for all: a plain tree of regular files.
"""

from pathlib import Path

from components.records.errors import InputError
from components.records.repository import Source
from components.repos.sources.git import fetch_git
from components.repos.sources.path import check_pin, local_folder
from components.repos.sources.sdist import fetch_sdist
from components.repos.tree import copy_tree
from components.store.digests import sha256_tree


def fetch(source: Source, *, version: str, key: str, cache: Path, scratch: Path, target: Path) -> str:
    """Put the files of a source into the empty folder `target`.

    Args:
        source: Where from.
        version: The version to ask a package index for.
        key: The place in the parameters, named in errors.
        cache: Where downloads are kept.
        scratch: An empty folder for what comes between.
        target: An empty folder; after an error it holds rubbish, which the caller removes.

    Returns:
        The digest of the tree.
    """
    match source.kind:
        case "sdist":
            copy_tree(fetch_sdist(source, version, key, cache, scratch), target)
        case "git":
            fetch_git(source, key, scratch)
            copy_tree(scratch, target)
        case "path":
            copy_tree(local_folder(source, key), target)
            check_pin(source, key, sha256_tree(target))
    if not any(target.rglob("*.py")):
        raise InputError(f"{key}: {source.location} holds no Python files")
    return sha256_tree(target)

"""Digests."""

import hashlib
from pathlib import Path

from components.store.digests import md5_file, sha256_bytes, sha256_file, sha256_json, sha256_tree


def test_file_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_file(tmp_path / "x") == sha256_bytes(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert md5_file(tmp_path / "x") == hashlib.md5(b"abc", usedforsecurity=False).hexdigest()


def test_json_whatever_the_order_of_keys() -> None:
    assert sha256_json({"a": 1, "b": [2]}) == sha256_json({"b": [2], "a": 1})
    assert sha256_json({"a": 1}) != sha256_json({"a": 1.5})


def test_tree_sees_names_contents_modes_and_links(tmp_path: Path) -> None:
    def tree(name: str, content: str = "x", mode: int = 0o644, link: str = "f") -> str:
        folder = tmp_path / sha256_json([name, content, mode, link])[:8]
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / name).write_text(content)
        (folder / "sub" / name).chmod(mode)
        (folder / "link").symlink_to(link)
        return sha256_tree(folder)

    different = {tree("f"), tree("g"), tree("f", content="y"), tree("f", mode=0o755), tree("f", link="g")}
    assert len(different) == 5
    assert sha256_tree(tmp_path / sha256_json(["f", "x", 0o644, "f"])[:8]) in different

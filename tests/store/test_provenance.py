"""Which code on which machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from components.store import provenance


def test_commit_of_this_repository() -> None:
    commit, dirty = provenance.code_commit()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    assert commit == head.stdout.strip()
    assert isinstance(dirty, bool)


def test_outside_of_git(tmp_path: Path) -> None:
    """Installed below a repository of somebody else's, that one's commit is not ours."""
    shutil.copytree(Path(provenance.__file__).parents[1], tmp_path / "components")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    code = "from components.store.provenance import code_commit; print(code_commit())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "('', False)"


def test_lock_and_machine() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", provenance.lock_digest())
    assert "Python 3" in provenance.machine()

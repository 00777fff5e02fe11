"""Reading the fix from git's history: there is none (SWE-bench #465)."""

from components.grading.grade import task_files
from tests.failure.hacking import LIMITS, Attempt, assert_refused, broken_and
from tests.grading.support import NUMBERS, RIGHT, one_bug

READ = """
import subprocess
subprocess.run("git log --all -p; git fsck --lost-found; git stash list", shell=True)
"""


PATIENT = LIMITS.model_copy(update={"cpu_seconds": 240})


def test_nothing_in_the_sandbox_holds_the_fix(attempt: Attempt) -> None:
    with attempt.sandbox.open(
        attempt.tree, files=task_files(one_bug(), attempt.tree), limits=LIMITS
    ) as session:
        hidden = " ".join(f"--exclude-dir={name}" for name in ("proc", "sys", "usr", "dev"))
        search = f"grep -rIF {hidden} -e '{RIGHT.strip()}' -e 'Keep a value between two bounds.' / 2>&1"
        found = session.exec(["/bin/sh", "-c", search], env={"LC_ALL": "C"}, timeout=240, limits=PATIENT)
        git = session.exec(
            ["/bin/sh", "-c", "find / -name .git -not -path '/proc/*' 2>/dev/null"], timeout=30
        )
        objects = session.exec(["/bin/sh", "-c", "git rev-list --all --objects 2>/dev/null"], timeout=30)
    assert f"/repo/{NUMBERS}:" in found.stdout
    assert RIGHT.strip() not in found.stdout
    assert git.stdout.strip() in ("", "/repo/.git")
    assert objects.stdout == ""


def test_trying_is_recorded(attempt: Attempt) -> None:
    assert_refused(attempt({NUMBERS: broken_and(READ)}), "process")

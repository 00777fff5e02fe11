"""Records for tests, complete and valid, with the fields that a test cares about."""

from components.records.repository import TestStatus
from components.records.task import Split, Task
from components.records.trajectory import (
    ExitStatus,
    Grade,
    Step,
    TestResult,
    ToolCall,
    Trajectory,
    Usage,
)

GOLD = """--- a/lib/core.py
+++ b/lib/core.py
@@ -10,3 +10,3 @@
 def f(x):
-    return x - 1
+    return x + 1
 
"""


def task(
    name: str = "a", *, split: Split = "heldout", strategy: str = "procedural.arithmetic", gold: str = GOLD
) -> Task:
    return Task(
        id=f"lib@1/{strategy}/{name}",
        repository_id="lib@1",
        environment="e" * 64,
        strategy=strategy,
        path="lib/core.py",
        function="f",
        line=11,
        bug_patch="",
        gold_patch=gold,
        fail_to_pass=("tests/test_core.py::test_f",),
        pass_to_pass=("tests/test_core.py::test_g",),
        test_files=("tests/test_core.py",),
        protected_paths=("tests/**",),
        problem_statement="test_f fails",
        problem_statement_hidden="f is off",
        difficulty=0.5,
        quality=(),
        split=split,
        parents=("c",),
    )


def grade(task_id: str, resolved: bool, *, infrastructure: str = "", empty: bool = False) -> Grade:
    status = TestStatus.PASSED if resolved else TestStatus.FAILED
    return Grade(
        task_id=task_id,
        resolved=resolved,
        patch_applied=not empty,
        empty_patch=empty,
        tests=(
            TestResult(test="tests/test_core.py::test_f", kind="fail_to_pass", status=status),
            TestResult(test="tests/test_core.py::test_g", kind="pass_to_pass", status=TestStatus.PASSED),
        ),
        fail_to_pass_rate=float(resolved),
        pass_to_pass_rate=1.0,
        reward=float(resolved),
        infrastructure=infrastructure,
    )


def trajectory(
    of: Task,
    resolved: bool,
    *,
    patch: str = GOLD,
    attempt: int = 0,
    model: str = "m",
    visible: bool = True,
    status: ExitStatus = ExitStatus.SUBMITTED,
    calls: tuple[ToolCall, ...] = (),
    infrastructure: str = "",
) -> Trajectory:
    return Trajectory(
        id=f"{of.id}#{model}.{'visible' if visible else 'hidden'}.{attempt}",
        task_id=of.id,
        repository_id=of.repository_id,
        model=model,
        scaffold="flywheel",
        scaffold_sha256="s",
        attempt=attempt,
        tests_visible=visible,
        tools=[],
        sampling={},
        steps=(
            Step(index=0, source="user", message="fix"),
            Step(index=1, source="agent", message="x", tool_calls=calls),
        ),
        exit_status=status,
        patch=patch,
        usage=Usage(prompt_tokens=100, completion_tokens=20),
        grade=grade(of.id, resolved, infrastructure=infrastructure, empty=not patch),
    )

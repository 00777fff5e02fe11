import sys
from pathlib import Path

from components.grading.inside.coverage import _Trace

SOURCE = "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n"


def test_without_coverage_py_a_trace_function_does_it(tmp_path: Path) -> None:
    place = str(tmp_path / "box.py")
    space: dict[str, object] = {}
    before = sys.gettrace()
    trace = _Trace(str(tmp_path), lambda path: path == place)
    trace.start()
    try:
        exec(compile(SOURCE, place, "exec"), space)
        sign = space["sign"]
        assert callable(sign)
        for test, value in (("negative", -1), ("positive", 1)):
            trace.context(test)
            sign(value)
            trace.context("")
        records = list(trace.finish())
    finally:
        sys.settrace(before)
    found = {record["test"]: record["files"]["box.py"] for record in records}
    assert found == {"": [1], "negative": [2, 3], "positive": [2, 4]}

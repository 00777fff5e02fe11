from components.validation.select import CoverageMap
from components.validation.source import SourceFile
from components.validation.suspects import executions, suspects

SOURCE = SourceFile(
    "m.py", "def helper():\n    return 1\n\ndef rare():\n    return helper()\n\ndef never():\n    pass\n"
)
MAP = CoverageMap(
    ("a", "b", "c"),
    {"a": {"m.py": frozenset({2, 5})}, "b": {"m.py": frozenset({2})}, "c": {"m.py": frozenset({2, 5})}},
)


def test_who_runs_what() -> None:
    assert executions(MAP, {"m.py": SOURCE}) == {
        ("m.py", "helper"): (1, frozenset("abc")),
        ("m.py", "rare"): (4, frozenset("ac")),
    }


def test_what_others_run_too_is_less_suspicious() -> None:
    run_by = executions(MAP, {"m.py": SOURCE})
    assert suspects(["a"], run_by, 5) == (("m.py", "rare"), ("m.py", "helper"))
    assert suspects(["a", "b", "c"], run_by, 5) == (("m.py", "helper"), ("m.py", "rare"))
    assert suspects(["b"], run_by, 1) == (("m.py", "helper"),)
    assert suspects([], run_by, 5) == ()

"""Does a problem statement give the answer away?

It must hold no line of the fix and no line of a test body, whatever the white space; a name that only the
fix brings in may appear only when it belongs to the public interface.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.grading.patching import parse_patch
from components.validation.source import parsed

SHORTEST = 8
"""Lines with fewer characters, white space apart, say nothing: `x = 1`, `else:`."""

_COMMON = frozenset(
    re.sub(r"\s", "", line)
    for line in (
        "return None", "return True", "return False", "return self", "return result", "return default",
        "continue", "finally:", "raise ValueError", "raise TypeError", "raise KeyError", "raise IndexError",
        "raise NotImplementedError", "raise StopIteration", "raise AttributeError", "except Exception:",
        "except ValueError:", "except TypeError:", "except KeyError:", "except IndexError:",
        "except AttributeError:", "except StopIteration:",
    )
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
_LANGUAGE = frozenset(keyword.kwlist) | frozenset(dir(builtins))


@dataclass(frozen=True)
class Change:
    """The two sides of a fix, without context lines."""

    added: tuple[str, ...]
    removed: tuple[str, ...]

    @classmethod
    def of(cls, patch: str) -> "Change":
        """Read a unified diff from the buggy tree to the fixed one."""
        lines = [line for change in parse_patch(patch) for hunk in change.hunks for line in hunk.lines]
        return cls(
            tuple(text.rstrip("\r\n") for sign, text in lines if sign == "+"),
            tuple(text.rstrip("\r\n") for sign, text in lines if sign == "-"),
        )

    @property
    def introduced(self) -> frozenset[str]:
        """Names that stand in the fixed lines and not in the buggy ones."""
        return _names(self.added) - _names(self.removed)


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word for line in lines for word in _WORD.findall(line))


def squeeze(text: str) -> str:
    """Text without white space."""
    return re.sub(r"\s+", "", text)


def telling(line: str) -> str:
    """A line as it is looked for, or an empty string when it says nothing."""
    bare = squeeze(line)
    if len(bare) < SHORTEST or bare in _COMMON or not _WORD.search(bare):
        return ""
    return bare


def body_of_tests(source: str, tests: Iterable[str]) -> tuple[str, ...]:
    """Lines of the bodies of the given tests (node ids) in one test file."""
    wanted = {test.split("::")[-1].partition("[")[0] for test in tests}
    lines = source.splitlines()
    out: list[str] = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in wanted:
            out.extend(lines[node.body[0].lineno - 1 : node.end_lineno])
    return tuple(out)


def line_leaks(statement: str, lines: Iterable[str], what: str) -> list[str]:
    """One finding per line that the statement holds."""
    bare = squeeze(statement)
    return [f"{what}: {line.strip()}" for line in lines if (want := telling(line)) and want in bare]


def name_leaks(statement: str, change: Change, allowed: frozenset[str]) -> list[str]:
    """Names that only the fix brings in, unless allowed (public interface, words of the template)."""
    words = frozenset(_WORD.findall(statement))
    return [f"name: {name}" for name in sorted((change.introduced & words) - allowed - _LANGUAGE)]


def leaked_tests(statement: str, tests: Iterable[str]) -> list[str]:
    """Names of tests and test files in a statement of the hidden setting."""
    found = []
    for test in tests:
        path, _, rest = test.partition("::")
        names = [part.partition("[")[0] for part in rest.split("::")] if rest else []
        found += [f"test: {name}" for name in (path, *names) if name and name in statement]
    return sorted(set(found))

from components.agents.source import function_at, named, spans

TEXT = '''\
import os


@decorate
@twice(1)
def outer(a):
    """First line.

    Second.
    """
    def inner():
        return a
    return inner


class Box:
    size = 1

    async def get(self): return self.size

    class Lid:
        def get(self):
            """Only a docstring."""


if os.name:
    def outer():
        pass
'''


def test_spans_know_decorators_docstrings_and_nesting() -> None:
    found = {span.name: span for span in spans(TEXT)}
    assert list(found) == ["outer", "outer.inner", "Box", "Box.get", "Box.Lid", "Box.Lid.get"]
    first = spans(TEXT)[0]
    assert (first.start, first.body, first.end, first.docstring) == (4, 11, 13, (7, 10))
    assert found["Box"].is_class and not found["Box.get"].is_class


def test_the_innermost_function_is_found() -> None:
    names = {line: span.name for line in range(1, 30) if (span := function_at(TEXT, line))}
    assert names[4] == "outer" and names[12] == "outer.inner" and names[13] == "outer"
    assert names[19] == "Box.get" and names[23] == "Box.Lid.get"
    assert 17 not in names and 1 not in names


def test_names_may_be_shortened_when_that_is_clear() -> None:
    assert [span.start for span in named(TEXT, "outer")] == [4, 27]
    assert named(TEXT, "inner")[0].name == "outer.inner"
    assert named(TEXT, "Lid.get")[0].name == "Box.Lid.get"
    assert named(TEXT, "get") == ()


def test_broken_text_has_no_functions() -> None:
    assert spans("def f(:\n") == () and spans("\x00") == ()

"""What guided decoding lets a turn become."""

import pytest

from components.agents.config import ScaffoldConfig
from components.agents.guide import Guide, edits, views
from components.agents.models.base import ModelRequest
from components.agents.toolcall import Call, render
from tests.agents.support import PATH, SEARCH, SUBMIT, TEST, VIEW, Bench, bash, edit
from tests.grading.support import one_bug

SHOWN = [".|def f(a):", "...", "9>    x = a", "5|    x = a", ".|", "3|    return x", ".|    rest"]


def test_a_line_on_view_can_be_replaced_with_what_makes_it_unique() -> None:
    olds = set(edits("m.py", SHOWN, []).values())
    # The first of two equal lines has nothing above it; the second has the first.
    assert olds == {"def f(a):\n", "    x = a\n    x = a\n", "    return x\n"}
    above = [".|def f(a):", "5|    x = a", "5|    y = a", "5|    x = a"]
    assert "    y = a\n    x = a\n" in set(edits("m.py", above, []).values())
    assert "def f(a):\n    x = a\n" in set(edits("m.py", above, []).values())


def test_edits_of_several_lines_where_they_are_wanted() -> None:
    olds = set(edits("m.py", SHOWN, [], 3).values())
    assert {"    x = a\n    x = a\n", "    x = a\n\n", "    x = a\n\n    return x\n"} <= olds
    assert not any(old.startswith(("\n", "    rest")) or "..." in old for old in olds)


def test_where_nothing_is_known_to_be_executed_any_line_may_be_replaced() -> None:
    shown = [f".{row[1:]}" if row[1:2] in ("|", ">") else row for row in SHOWN]
    assert "    rest\n" in set(edits("m.py", shown, []).values())


def test_lines_that_have_been_tried_are_closed_with_all_that_begins_with_them() -> None:
    assert set(edits("m.py", SHOWN, ["    x = a"]).values()) == {"def f(a):\n", "    return x\n"}


def every_prefix(guide: Guide, text: str) -> bool:
    return all(guide.allows(text[:end]) for end in range(len(text) + 1))


def test_an_edit_may_be_anything_but_nothing() -> None:
    guide = Guide(frozenset(), frozenset(), edits("m.py", SHOWN, []))
    for new in ("    return y\n", "", "    return x\n    return y\n", "    return x", "\n"):
        assert every_prefix(guide, edit("    return x\n", new, "m.py"))
    same = edit("    return x\n", "    return x\n", "m.py")
    assert not guide.allows(same) and guide.allows(same.partition("</parameter>\n</function>")[0])
    assert not guide.allows("<function=edit>\n<parameter=path>other.py")
    assert not guide.allows("I think")


def test_what_may_follow_is_known_until_anything_may() -> None:
    guide = Guide(frozenset({SUBMIT}), frozenset({"<function=bash>\n"}), {"<function=edit>\n": "x\n"})
    ahead = guide.ahead("<function=")
    assert ahead is not None
    assert ahead.closed == {"submit>\n</function>"} and ahead.open == {"bash>\n", "edit>\n"}
    assert guide.ahead("<function=bash>\n") is None and guide.ahead("<function=edit>\nfree") is None
    closing = guide.ahead("<function=edit>\ny\n</parameter>\n</fun")
    assert closing is not None and closing.closed == {"ction>"} and not closing.open
    assert not guide.allows("<function=edit>\ny\n</parameter>\n<p")
    nothing = guide.ahead("other")
    assert nothing is not None and not nothing.closed | nothing.open


def test_edits_that_change_nothing_or_cannot_be_carried_out() -> None:
    def can(call: Call) -> bool:
        return "y" in call.arguments["new"]

    begins = frozenset({"<function=bash>\n"})
    guide = Guide(frozenset({SUBMIT}), begins, edits("m.py", SHOWN, []), can)
    assert edit("    return x\n", "    return x\n", "m.py") in guide.idle.values()
    assert guide.idle.keys() == guide.edits.keys()
    assert not any(guide.fits(turn) for turn in guide.idle.values())
    assert guide.fits(edit("    return x\n", "    return y\n", "m.py"))
    assert not guide.fits(edit("    return x\n", "    return z\n", "m.py"))
    assert not guide.fits(edit("    return y\n", "    return x\n", "m.py"))  # not on view
    assert guide.settled("<function=ed") and guide.settled("<function=edit>\n<parameter=path>m")
    assert not any(guide.settled(text) for text in ("", "<function=", "<function=bash>\nx", SUBMIT, "other"))


def test_whole_calls_and_free_beginnings() -> None:
    guide = Guide(views([("m.py", "f")]) | {SUBMIT}, frozenset({"<function=bash>\n"}), {})
    view = render(Call("view", {"path": "m.py", "function": "f"}))
    assert every_prefix(guide, view) and every_prefix(guide, SUBMIT)
    assert every_prefix(guide, render(Call("bash", {"command": "ls </parameter>"})))
    assert not guide.allows(view.replace("=f>", "=g>").replace(">f<", ">g<"))
    assert not guide.allows(f"{SUBMIT} and more")


@pytest.mark.parametrize("guided", [True, False])
def test_a_rollout_guides_by_what_the_model_has_seen(bench: Bench, guided: bool) -> None:
    wrong = edit("        total -= value\n", "        total *= value\n")
    script = [SEARCH, wrong, edit("        count += 1\n", "        count += 2\n"), SUBMIT]
    requests: list[ModelRequest] = []

    def model(request: ModelRequest) -> str:
        requests.append(request)
        return script[len(requests) - 1]

    bench.run(model, [one_bug()], scaffold=ScaffoldConfig(guided=guided, edits_per_line=1), graded=False)
    guides = [request.guide for request in requests]
    if not guided:
        assert guides == [None] * 4
        return
    allowed = [guide is not None and guide.allows(said) for guide, said in zip(guides, script, strict=True)]
    assert allowed == [True] * 3 + [False]  # nothing has been fixed that could be submitted
    first, second, third = guides[:3]
    assert first and second and third
    # At first there is nothing to edit or submit; any function may be viewed, then what localisation has shown is.
    assert not first.allows(SUBMIT)
    assert not first.allows(wrong) and first.allows("<function=view>\n<parameter=path>any")
    assert not second.allows(SEARCH) and not second.allows("<function=view>")
    assert not second.allows(edit("        no such line\n", "", PATH))
    # A line that was tried is closed; others are open.
    assert second.allows(wrong) and not third.allows(wrong)
    assert third.allows(edit("    total = 0\n", "    total = 1\n"))


def test_an_edit_that_breaks_the_file_does_not_fit(bench: Bench) -> None:
    wrong, broken = (
        edit("        total -= value\n", f"        total {new}\n") for new in ("*= value", "*= (")
    )
    fits: list[list[bool]] = []

    def model(request: ModelRequest) -> str:
        assert request.guide and request.ranked
        fits.append([request.guide.fits(turn) for turn in (SEARCH, wrong, broken)])
        return [SEARCH, wrong, SUBMIT][len(fits) - 1]

    bench.run(model, [one_bug()], graded=False)
    assert fits[0] == [True, False, False] and fits[1] == [False, True, False]


@pytest.mark.parametrize("visible", [True, False])
def test_after_an_edit_that_stands_there_is_only_to_check_and_to_submit(bench: Bench, visible: bool) -> None:
    find = SEARCH if visible else render(Call("search", {"query": "mean"}))
    script = [find] if visible else [find, VIEW]
    fix = edit("        total -= value\n", "        total += value\n")
    last: list[ModelRequest] = []

    def model(request: ModelRequest) -> str:
        last.append(request)
        return [*script, fix, SUBMIT][len(last) - 1]

    [run] = bench.run(model, [one_bug()], visible=visible)
    assert run.grade and run.grade.resolved
    guide = last[-1].guide
    assert guide and guide.allows(SUBMIT) and guide.allows(bash("ls"))
    # Where no failing test is known, it has to say which, and those of the failing ones are not there.
    others = [render(Call("test", {"tests": f"tests/test_{name}.py"})) for name in ("words", "numbers", "x")]
    assert [guide.allows(call) for call in (TEST, *others)] == [visible, True, visible, visible]
    again = edit("    total = 0\n", "    total = 1\n")
    assert not any(guide.allows(turn) for turn in (again, VIEW, SEARCH, find))
    assert last[-2].guide and last[-2].guide.allows(again)


def test_a_test_call_that_was_refused_is_not_offered_again(bench: Bench) -> None:
    fix = edit("        total -= value\n", "        total += value\n")
    some = render(Call("test", {"tests": "tests/test_words.py"}))
    nothing, aside = (
        render(Call("test", {"tests": "no_such_test.py"})),
        render(Call("view", {"path": "x.py"})),
    )
    script = [render(Call("search", {"query": "mean"})), VIEW, fix, nothing, aside, SUBMIT]
    offered: list[bool] = []

    def model(request: ModelRequest) -> str:
        offered.append(request.guide is not None and request.guide.allows(some))
        return script[len(offered) - 1]

    [run] = bench.run(model, [one_bug()], visible=False)
    assert run.grade and run.grade.resolved
    assert offered == [True, True, True, True, False, False]


def test_without_known_tests_the_statement_is_asked_first(bench: Bench) -> None:
    requests: list[ModelRequest] = []
    script = [SEARCH, render(Call("search", {"query": "mean"})), SUBMIT]

    def model(request: ModelRequest) -> str:
        requests.append(request)
        return script[len(requests) - 1]

    bench.run(model, [one_bug()], visible=False, graded=False)
    guides = [request.guide for request in requests]
    assert [guide is not None and guide.allows(SEARCH) for guide in guides] == [True, False, False]
    assert guides[2] and guides[2].allows(VIEW)
    assert not guides[2].allows(render(Call("view", {"path": PATH, "function": "median"})))

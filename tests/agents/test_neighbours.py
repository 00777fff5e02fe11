from components.agents.neighbours import companions

TEXT = (
    "import pytest\n"
    + "\n".join(f"def test_{n}():\n    pass\n" for n in range(100))
    + """
class TestBox:
    def helper(self):
        pass

    def test_in(self):
        pass
"""
)


def test_a_short_file_is_run_whole() -> None:
    assert companions("def test_a(): pass\n", "t.py", ["t.py::test_a"], 5) == ["t.py"]


def test_of_a_long_one_the_neighbours_and_a_spread() -> None:
    chosen = companions(TEXT, "t.py", ["t.py::test_50[a]", "t.py::test_50[b]"], 10)
    numbers = [int(test.rpartition("_")[2]) for test in chosen]
    assert {48, 49, 50, 51, 52} <= set(numbers) and 0 in numbers and max(numbers) > 75
    assert len(numbers) <= 11 and numbers == sorted(numbers)


def test_methods_are_known_by_their_class() -> None:
    chosen = companions(TEXT, "t.py", ["t.py::TestBox::test_in"], 4)
    assert "t.py::TestBox::test_in" in chosen and "t.py::test_99" in chosen
    assert not any("helper" in test for test in chosen)


def test_what_cannot_be_found_or_read_is_run_whole() -> None:
    assert companions(TEXT, "t.py", ["t.py::test_generated"], 10) == ["t.py"]
    assert companions("def test_a(:\n", "t.py", ["t.py::test_a"], 10) == ["t.py"]

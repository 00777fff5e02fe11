"""Every link of the documentation to a file of the repository leads to one."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from docs.hooks.links import ROOT, outside, targets

PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
)


def relative(page: Path) -> list[str]:
    return [t for t in targets(page.read_text()) if "://" not in t and not t.startswith("mailto:")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    in_site = page.is_relative_to(ROOT / "docs")
    for target in relative(page):
        found = (page.parent / unquote(target)).resolve()
        # The site shows files only; a forge shows folders as well.
        assert found.is_file() or (found.is_dir() and not in_site), f"{page.name} links to {target}"
        assert found.is_relative_to(ROOT), f"{page.name} links to {target}, outside of the repository"


def test_there_is_something_to_check() -> None:
    counts = {page.name: len(relative(page)) for page in PAGES}
    assert counts["tour.md"] > 40
    assert counts["README.md"] > 3


def test_anchors_name_a_heading() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)\s#]*\.md)#([^)\s]+)\)", page.read_text()):
            headings = re.findall(r"^#+ (.+)$", (page.parent / target).read_text(), flags=re.MULTILINE)
            slugs = {
                re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
            }
            assert anchor in slugs, f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize(
    ("target", "folder", "expected"),
    [
        ("../components/cli.py", "docs", "components/cli.py"),
        ("../../params.yaml", "docs/adr", "params.yaml"),
        ("loop.md", "docs", None),
        ("../loop.md", "docs/adr", None),
        ("https://example.org/x", "docs", None),
    ],
)
def test_outside(target: str, folder: str, expected: str | None) -> None:
    assert outside(target, folder) == expected


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f": {page}\n" not in text] == []


def test_every_way_to_cheat_is_in_the_table() -> None:
    table = (ROOT / "docs" / "grading.md").read_text()
    names = [path.stem for path in (ROOT / "tests" / "failure").glob("test_hack_*.py")]
    assert names
    assert [name for name in names if f"[{name}]" not in table] == []

"""Leads links from a page to files of the repository to pages of the site that show them.

On a forge the links work as they are written; on the site there is a page for each file that is linked to.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
CODE = "code"
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "sh", ".html": "html"}


def outside(target: str, folder: str) -> str | None:
    """Where in the repository a link of a page leads; None for other pages and other sites.

    Args:
        target: As written.
        folder: Of the page, relative to the repository, e.g. `docs/adr`.
    """
    if "://" in target or target.startswith(("/", "mailto:")):
        return None
    path = posixpath.normpath(posixpath.join(folder, target))
    return None if path.startswith("docs/") else path


def targets(markdown: str) -> Iterator[str]:
    """The targets of all links of a page, without anchors; code is not looked at."""
    text = re.sub(r"^(`{3,}).*?^\1`*\s*$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    yield from (match["target"] for match in LINK.finditer(re.sub(r"`[^`\n]*`(?!\])", "", text)))


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: add a page for every file of the repository that some page links to."""
    from mkdocs.structure.files import File

    wanted: set[str] = set()
    for file in files.documentation_pages():
        folder = posixpath.dirname(f"docs/{file.src_uri}")
        wanted |= {path for target in targets(file.content_string) if (path := outside(target, folder))}
    for path in sorted(wanted):
        files.append(File.generated(config, f"{CODE}/{path}.md", content=_source_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page: lead links to files of the repository to their pages."""
    uri = page.file.src_uri
    if uri.startswith(f"{CODE}/"):
        return markdown
    folder = posixpath.dirname(uri)

    def lead(match: re.Match[str]) -> str:
        path = outside(match["target"], posixpath.join("docs", folder))
        if path is None:
            return match[0]
        return f"[{match['text']}]({posixpath.relpath(f'{CODE}/{path}.md', folder or '.')})"

    return LINK.sub(lead, markdown)


def _source_page(path: str) -> str:
    file = ROOT / path
    if not file.is_file():
        raise FileNotFoundError(f"docs: a page links to {path}, which is not a file")
    fence = "`" * 8
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    options = f'{{.{_LANGUAGES.get(file.suffix, "text")} linenums="1"}}'
    return f"{head}{fence} {options}\n{file.read_text().rstrip()}\n{fence}\n"

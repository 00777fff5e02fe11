"""Where pip would find a source distribution, without letting pip build it.

`pip download` of an sdist runs the project's build backend to read its metadata: code of a repository,
outside the sandbox. So this reads pip's own configuration (indexes, links, certificates, from its files and
from the environment) and asks the same places through the simple repository API (PEP 503, PEP 691).
"""

import ast
import base64
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from components.records.errors import InfrastructureError, InputError

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


@dataclass(frozen=True)
class PipConfiguration:
    """The part of pip's configuration that says where packages are."""

    indexes: tuple[str, ...]
    links: tuple[str, ...]
    certificate: str
    timeout: float

    @classmethod
    def read(cls) -> "PipConfiguration":
        """What `pip config list` says: files of the system and the user, and `PIP_*` variables."""
        command = [sys.executable, "-m", "pip", "config", "list"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise InfrastructureError(f"pip does not run: {done.stderr.strip().splitlines()[-1:]}")
        return cls.parse(done.stdout)

    @classmethod
    def parse(cls, text: str) -> "PipConfiguration":
        """Of the text that `pip config list` prints; later sections (`install`, environment) win."""
        values: dict[str, str] = {}
        rank = {"global": 0, "download": 1, ":env:": 2}
        found: dict[str, int] = {}
        for line in text.splitlines():
            key, _, value = line.partition("=")
            section, _, name = key.rpartition(".")
            if section in rank and rank[section] >= found.get(name, 0):
                values[name], found[name] = str(ast.literal_eval(value)), rank[section]
        indexes = [values.get("index-url") or _default_index()]
        indexes += values.get("extra-index-url", "").split()
        if values.get("no-index", "").lower() in ("1", "true", "yes", "on"):
            indexes = []
        return cls(
            indexes=tuple(indexes),
            links=tuple(values.get("find-links", "").split()),
            certificate=values.get("cert", ""),
            timeout=float(values.get("default-timeout", values.get("timeout", "30"))),
        )


def _default_index() -> str:
    """The index that pip asks when nobody has configured one."""
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def find_sdist(pip: PipConfiguration, project: str, version: Version) -> str:
    """The URL of a project's sdist.

    Raises:
        InputError: No place that pip looks at has it.
        InfrastructureError: A place could not be asked, and no other has it.
    """
    wanted, unreachable = (canonicalize_name(project), version), []
    places = [urljoin(f"{url.rstrip('/')}/", f"{wanted[0]}/") for url in pip.indexes]
    for place in [*places, *map(_as_url, pip.links)]:
        try:
            for url in _links(pip, place):
                if _sdist(url) == wanted:
                    return url
        except InfrastructureError as error:
            unreachable.append(str(error))
    if unreachable:
        raise InfrastructureError(f"{project} {version}: {unreachable[0]}; try again when it answers")
    looked = ", ".join(map(_public, [*places, *pip.links])) or "nowhere: pip has no index"
    raise InputError(f"{project} {version}: no source distribution found; looked at {looked}")


def fetch(pip: PipConfiguration, url: str) -> bytes:
    """The bytes behind a URL, tried again when the network fails."""
    return _get(pip, url)[0]


def _sdist(url: str) -> tuple[str, Version] | None:
    name = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    try:
        return parse_sdist_filename(name)
    except (InvalidSdistFilename, InvalidVersion):
        return None


def _links(pip: PipConfiguration, place: str) -> Iterator[str]:
    """Every file that an index page or a folder offers."""
    parts = urlsplit(place)
    if parts.scheme == "file":
        folder = Path(unquote(parts.path))
        if folder.is_dir() and not (folder / "index.html").exists():
            yield from (path.as_uri() for path in sorted(folder.iterdir()) if path.is_file())
            return
        place = (folder / "index.html" if folder.is_dir() else folder).as_uri()
        if not Path(unquote(urlsplit(place).path)).exists():
            return
    try:
        data, kind, base = _get(pip, place)
    except FileNotFoundError:
        return
    if "json" in kind:
        yield from (urljoin(base, str(file["url"])) for file in json.loads(data).get("files", []))
        return
    parser = _Anchors()
    parser.feed(data.decode("utf-8", "replace"))
    yield from (urldefrag(urljoin(base, href))[0] for href in parser.found)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


@retry(
    retry=retry_if_exception_type(InfrastructureError),
    stop=stop_after_attempt(3),
    wait=wait_exponential(multiplier=0.5, max=5),
    reraise=True,
)
def _get(pip: PipConfiguration, url: str) -> tuple[bytes, str, str]:
    """Content, content type and final address."""
    request = _request(url)
    context = ssl.create_default_context(cafile=pip.certificate or None)
    try:
        with urlopen(request, timeout=pip.timeout, context=context) as response:
            return response.read(), response.headers.get("Content-Type", ""), response.url
    except HTTPError as error:
        if error.code in (404, 410):
            raise FileNotFoundError(url) from error
        raise InfrastructureError(f"{_public(url)} answered {error.code} {error.reason}") from error
    except (URLError, TimeoutError, OSError) as error:
        raise InfrastructureError(f"{_public(url)} cannot be reached ({error})") from error


def _request(url: str) -> Request:
    """Credentials in an index URL become a header, as pip does."""
    parts = urlsplit(url)
    headers = {"Accept": _ACCEPT, "User-Agent": "swe-flywheel"}
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return Request(_public(url), headers=headers)


def _public(url: str) -> str:
    """A URL without the credentials it may hold."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _as_url(link: str) -> str:
    return link if "://" in link else Path(link).expanduser().resolve().as_uri()

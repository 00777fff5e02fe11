"""Finding an sdist where pip is told to look, against a real index server."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from packaging.version import Version

from components.records.errors import InfrastructureError, InputError
from components.repos.index import PipConfiguration, fetch, find_sdist

PAGES: dict[str, tuple[str, bytes]] = {
    "/simple/tiny-lib/": (
        "text/html",
        b'<a href="../../files/tiny_lib-1.0-py3-none-any.whl">w</a>'
        b'<a href="../../files/tiny_lib-1.0.tar.gz#sha256=00">s</a><a>no href</a>',
    ),
    "/json/tiny-lib/": (
        "application/vnd.pypi.simple.v1+json",
        b'{"files": [{"url": "/files/tiny_lib-0.9.tar.gz"}, {"url": "/files/tiny_lib-1.0.tar.gz"}]}',
    ),
    "/files/tiny_lib-1.0.tar.gz": ("application/gzip", b"the sdist"),
}


class Index(BaseHTTPRequestHandler):
    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers.get('Authorization', '')}".strip())
        if self.path.startswith("/broken"):
            self.send_error(503)
            return
        if self.path not in PAGES:
            self.send_error(404)
            return
        kind, body = PAGES[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Index.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


def pip(*indexes: str, links: tuple[str, ...] = ()) -> PipConfiguration:
    return PipConfiguration(indexes=indexes, links=links, certificate="", timeout=10)


@pytest.mark.parametrize("kind", ["simple", "json"])
def test_html_and_json_indexes(server: str, kind: str) -> None:
    setup = pip(f"http://{server}/{kind}")
    url = find_sdist(setup, "Tiny.Lib", Version("1.0"))
    assert url == f"http://{server}/files/tiny_lib-1.0.tar.gz"
    assert fetch(setup, url) == b"the sdist"


def test_the_next_place_is_asked(server: str, tmp_path: Path) -> None:
    (tmp_path / "tiny_lib-2.0.tar.gz").write_bytes(b"local")
    setup = pip(f"http://{server}/none", f"http://{server}/simple", links=(str(tmp_path),))
    assert find_sdist(setup, "tiny-lib", Version("1.0")).startswith("http://")
    local = find_sdist(setup, "tiny-lib", Version("2.0"))
    assert fetch(setup, local) == b"local"


def test_an_index_of_local_folders(tmp_path: Path) -> None:
    page = tmp_path / "simple/tiny-lib/index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="../../files/tiny_lib-1.0.tar.gz">x</a>')
    url = find_sdist(pip((tmp_path / "simple").as_uri()), "tiny-lib", Version("1.0"))
    assert url == (tmp_path / "files/tiny_lib-1.0.tar.gz").as_uri()


def test_not_found_says_where_it_looked_and_hides_credentials(server: str) -> None:
    with pytest.raises(InputError, match=r"tiny-lib 3\.0: no source distribution found") as caught:
        find_sdist(pip(f"http://me:secret@{server}/simple"), "tiny-lib", Version("3.0"))
    assert server in str(caught.value)
    assert "secret" not in str(caught.value)
    token = base64.b64encode(b"me:secret").decode()
    assert Index.seen == [f"/simple/tiny-lib/ Basic {token}"]


def test_a_wheel_alone_is_no_source(server: str) -> None:
    PAGES["/wheels/tiny-lib/"] = ("text/html", b'<a href="/files/tiny_lib-1.0-py3-none-any.whl">w</a>')
    with pytest.raises(InputError, match="no source distribution"):
        find_sdist(pip(f"http://{server}/wheels"), "tiny-lib", Version("1.0"))


def test_a_server_that_fails_is_asked_again_and_then_named(server: str) -> None:
    with pytest.raises(InfrastructureError, match="503"):
        find_sdist(pip(f"http://{server}/broken"), "tiny-lib", Version("1.0"))
    assert len(Index.seen) == 3


def test_no_server_at_all() -> None:
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        find_sdist(pip("http://127.0.0.1:9/simple"), "tiny-lib", Version("1.0"))


def test_no_index_at_all() -> None:
    with pytest.raises(InputError, match="nowhere"):
        find_sdist(pip(), "tiny-lib", Version("1.0"))


def test_the_environment_wins_over_files() -> None:
    text = (
        ":env:.find-links='/a /b'\n"
        ":env:.default-timeout='7'\n"
        "global.cert='/ca.pem'\n"
        "global.extra-index-url='https://one/simple https://two/simple'\n"
        "global.find-links='/ignored'\n"
        "global.index-url='https://main/simple'\n"
        "install.no-index='true'\n"
    )
    found = PipConfiguration.parse(text)
    assert found.indexes == ("https://main/simple", "https://one/simple", "https://two/simple")
    assert (found.links, found.certificate, found.timeout) == (("/a", "/b"), "/ca.pem", 7.0)
    assert PipConfiguration.parse("global.no-index='1'\n").indexes == ()
    (default,) = PipConfiguration.parse("").indexes
    assert default.endswith("/simple")


def test_what_pip_says_here_can_be_read() -> None:
    assert PipConfiguration.read().timeout > 0

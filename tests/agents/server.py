"""A small, real OpenAI-compatible server, for tests of the client."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""HTTP status and body."""


def completion(
    text: str | None, finish: str = "stop", calls: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The body of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": call} for n, call in enumerate(calls)
        ]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def error(code: int, text: str = "no") -> Answer:
    """An error as these servers send it."""
    return code, {"error": {"message": text, "type": "x", "code": None}}


@dataclass
class Server:
    """A running server and what it was asked."""

    url: str
    stop: Callable[[], None]
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serve(respond: Callable[[int, dict[str, Any]], Answer]) -> Iterator[Server]:
    """A server on a free port. `respond` gets the number of the request, from 0, and its body."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(server.asked)
                server.asked.append(body)
            status, answer = respond(number, body)
            if status == 0:  # hang up
                self.close_connection = True
                return
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that gave up waiting hangs up: that is what some tests are about."""

    http = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()

    def stop() -> None:
        http.shutdown()
        http.server_close()
        thread.join()

    server = Server(f"http://127.0.0.1:{http.server_port}/v1", stop)
    try:
        yield server
    finally:
        stop()

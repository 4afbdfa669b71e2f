"""A server on this machine that can break off, refuse ranges and say what it was asked."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server:
    """Serves files, and breaks off after `break_after` bytes as often as `breaks` says."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.breaks = 0
        self.break_after = 0
        self.honours_range = True
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.ranges.append(handler.headers.get("Range"))
        body = self.files.get(handler.path.removeprefix("/"))
        if body is None:
            handler.send_error(404)
            return
        start = 0
        if self.honours_range and (wanted := handler.headers.get("Range")):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        rest = body[start:]
        if self.breaks:
            self.breaks -= 1
            rest = rest[: self.break_after]
        handler.wfile.write(rest)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()

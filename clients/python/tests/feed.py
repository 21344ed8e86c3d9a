"""A server that answers as a test says, also wrongly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Answer:
    body: bytes | str | Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    """After how many bytes of the body the connection is closed."""
    framing: str = "length"
    """How the client knows the end: `length`, `chunked`, or by the `close` of the connection, as over HTTP/1.0."""

    def bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass
class Asked:
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]


class Feed:
    """Answers each request with the next answer; after the last one with 404."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []

    def will(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked = []

    def cursors(self) -> list[str | None]:
        return [each.query.get("cursor") for each in self.asked]


def page(*items: Any, cursor: str, more: bool = False, **headers: str) -> Answer:
    body = {"items": list(items), "cursor": cursor, "hasMore": more}
    return Answer(body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def refusal(status: int, code: str = "code", message: str = "message", **headers: str) -> Answer:
    body = {"error": {"code": code, "message": message}}
    return Answer(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def row(id: str, **members: Any) -> dict[str, Any]:
    return {"id": id, "changedAt": "2026-11-28T08:30:00.000Z", "deleted": False, **members}


def gone(id: str) -> dict[str, Any]:
    return {**row(id), "deleted": True}


@contextmanager
def running() -> Iterator[Feed]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one packet: otherwise each waits for an acknowledgement.
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            feed.asked.append(Asked(address.path, dict(parse_qsl(address.query)), dict(self.headers)))
            answer = feed.answers.pop(0) if feed.answers else refusal(404, "not_found", "no more answers")
            self.send_answer(answer, answer.bytes())

        def send_answer(self, answer: Answer, body: bytes) -> None:
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            sent = body if answer.cut_at is None else body[: answer.cut_at]
            if answer.framing == "length":
                self.send_header("Content-Length", str(len(body)))
            if answer.framing == "chunked":
                self.send_header("Transfer-Encoding", "chunked")
                sent = b"%x\r\n%b\r\n" % (len(sent), sent) if sent else b""
                sent += b"" if answer.cut_at is not None else b"0\r\n\r\n"
            self.close_connection = answer.framing == "close" or answer.cut_at is not None
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(sent)

        def send_response(self, code: int, message: str | None = None) -> None:
            self.send_response_only(code, message)

        log_message: Callable[..., None] = lambda *_: None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    feed = Feed(f"http://127.0.0.1:{server.server_port}/api/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield feed
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

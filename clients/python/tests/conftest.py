from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from feed import Feed, running

from tidemark_client import Tidemark


@pytest.fixture(scope="session")
def server() -> Iterator[Feed]:
    with running() as feed:
        yield feed


@pytest.fixture
def feed(server: Feed) -> Feed:
    server.will()
    return server


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    with httpx.Client() as http:
        yield http


@pytest.fixture
def client(feed: Feed, http: httpx.Client) -> Tidemark:
    return Tidemark(feed.url, "rqp_acct_key", http=http)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client has paused, which takes no time here."""
    paused: list[float] = []
    monkeypatch.setattr(time, "sleep", paused.append)
    return paused

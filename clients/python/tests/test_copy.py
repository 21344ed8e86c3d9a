"""Copies that are made as the package says, by programs that are killed at any moment, of a feed whose cursors expire."""

from __future__ import annotations

import json
import random
import runpy
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tidemark_client import Tidemark

EXAMPLE = Path(__file__).parents[1] / "examples" / "copy_to_sqlite.py"


class Killed(BaseException):
    """Ends a program wherever it is."""


@dataclass
class Item:
    id: str
    position: int
    exists: bool

    def row(self) -> dict[str, object]:
        return {"id": self.id, "changedAt": str(self.position), "deleted": not self.exists}


class FakeApi(httpx.BaseTransport):
    """A list of a few items that changes while it is read; pages are small, and cursors expire."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.position = 0
        self.items: dict[str, Item] = {}
        self.expired_below = 0
        self.is_quiet = False

    def change(self) -> None:
        self.position += 1
        id = f"r{self.random.randrange(20)}"
        self.items[id] = Item(id, self.position, exists=self.random.random() < 0.7)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self.is_quiet:
            for _ in range(self.random.randrange(4)):
                self.change()
            if self.random.random() < 0.1:
                # The deletions until now are forgotten.
                self.items = {id: item for id, item in self.items.items() if item.exists}
                self.expired_below = self.position
            if self.random.random() < 0.1:
                return httpx.Response(503, headers={"Retry-After": "1"})
        # What was read up to which position, and where a walk from the beginning has begun: it needs no deletions from before.
        cursor = request.url.params.get("cursor", f"0-{self.position}")
        since, begun = map(int, cursor.split("-"))
        is_first = begun > 0
        expired = self.expired_below > (begun if is_first else since) or (is_first and since > 0 and self.random.random() < 0.1)
        if "cursor" in request.url.params and expired:
            return httpx.Response(410, json={"error": {"code": "cursor_expired", "message": "too old"}})
        changed = sorted((item for item in self.items.values() if item.position > since), key=lambda item: item.position)
        rows = [item for item in changed if item.exists or item.position > begun]
        shown, has_more = rows[:3], len(rows) > 3
        next_cursor = f"{shown[-1].position}-{begun}" if has_more else f"{self.position}-0"
        return httpx.Response(200, json={"items": [item.row() for item in shown], "cursor": next_cursor, "hasMore": has_more})

    def existing(self) -> dict[str, object]:
        return {item.id: item.row() for item in self.items.values() if item.exists}


class DyingConnection(sqlite3.Connection):
    """A connection of a program that is killed before or after one of its statements."""

    statements_left = 0

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        if DyingConnection.statements_left <= 0:
            raise Killed
        DyingConnection.statements_left -= 1
        return super().execute(sql, values)


@pytest.mark.parametrize("seed", range(20))
def test_the_copy_in_twenty_lines_survives_being_killed_anywhere(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = FakeApi(seed)
    file = tmp_path / "copy.db"
    connect, http = sqlite3.connect, httpx.Client(transport=api)

    def dying(path: str) -> sqlite3.Connection:
        connection = connect(path, factory=DyingConnection)
        # Only this process ends, not the machine.
        sqlite3.Connection.execute(connection, "PRAGMA synchronous = OFF")
        return connection

    def connected(base_url: str, account_key: str) -> Tidemark:
        return Tidemark(base_url, account_key, http=http)

    monkeypatch.setattr("sqlite3.connect", dying)
    monkeypatch.setattr("tidemark_client.Tidemark", connected)
    monkeypatch.setenv("COPY", str(file))
    monkeypatch.setenv("TIDEMARK_URL", "http://api")
    monkeypatch.setenv("TIDEMARK_KEY", "key")
    for _ in range(30):
        DyingConnection.statements_left = api.random.randrange(2, 60)
        with pytest.raises(Killed):
            runpy.run_path(str(EXAMPLE))
    api.is_quiet = True
    DyingConnection.statements_left = 500
    with pytest.raises(Killed):
        runpy.run_path(str(EXAMPLE))
    rows = connect(file).execute("SELECT id, record FROM records").fetchall()
    assert {id: json.loads(record) for id, record in rows} == api.existing()
    assert len(EXAMPLE.read_text().splitlines()) <= 20


@pytest.mark.parametrize("seed", range(20))
def test_a_copy_without_a_column_for_the_walk_becomes_the_list(seed: int) -> None:
    api = FakeApi(seed)
    copy: dict[str, object] = {}
    cursor: str | None = None
    with Tidemark("http://api", "key", http=httpx.Client(transport=api)) as client:
        for run in range(20):
            api.is_quiet = run == 19
            for batch in client.follow("records", cursor, once=True):
                if api.random.random() < 0.2 and not api.is_quiet:
                    break
                if batch.starts_over:
                    copy.clear()
                for row in batch.rows:
                    if row["deleted"]:
                        copy.pop(row["id"], None)
                    else:
                        copy[row["id"]] = row
                cursor = batch.cursor
    assert copy == api.existing()

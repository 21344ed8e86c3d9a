"""Follows a change feed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from ._connection import Connection, Parameters
from ._retry import logger
from .errors import CursorExpiredError, InvalidAnswerError

RowT = TypeVar("RowT")

# Between two requests once the copy is current, so that a busy list does not use up the key's minute; and before everything is read again.
_LEAST_INTERVAL_S = 1.0
_LATEST = "latest"


@dataclass(frozen=True)
class Batch(Generic[RowT]):
    """One answer of a change feed."""

    rows: list[RowT]
    """What is new, changed or deleted, each with `id`, `changedAt` and `deleted`. May be empty."""
    cursor: str
    """Store it together with the rows, and pass it to `follow` after a restart."""
    complete: bool
    """There is nothing more now. The copy has everything that was visible when the first batch after the previous complete one was requested."""
    walk: str
    """Store it with each row. In a walk from the beginning, a random name of that walk; afterwards empty."""
    starts_over: bool
    """The first batch of a walk from the beginning: no cursor was given, or it had expired."""
    sweep: bool
    """The last batch of a walk from the beginning. Delete all rows that are stored with another `walk` than this batch's."""
    watermark: str | None
    """Everything that changed before this instant was visible; `None` if the API cannot promise it. For people and dashboards."""


@dataclass(frozen=True)
class _Page:
    items: list[Any]
    cursor: str
    has_more: bool
    waited: bool
    watermark: str | None


def follow_changes(
    connection: Connection,
    path: str,
    cursor: str | None,
    parameters: Parameters,
    *,
    wait_s: int,
    poll_s: float,
    once: bool,
    restarts: bool,
    patience_s: float,
) -> Iterator[Batch[Any]]:
    """See `Tidemark.follow`."""
    walk, since = _opened(cursor)
    starts_over = since is None
    while True:
        asked_at = time.monotonic()
        try:
            page = _page_since(connection, path, since, parameters, wait_s=wait_s, patience_s=patience_s)
        except CursorExpiredError as error:
            if since is None or not restarts:
                raise
            logger.warning("%s; reading everything again", error)
            time.sleep(_LEAST_INTERVAL_S)
            (walk, since), starts_over = _opened(None), True
            continue
        complete = not page.has_more
        sweep = complete and walk != ""
        yield Batch(
            rows=page.items,
            cursor=page.cursor if complete else _stored(walk, page.cursor),
            complete=complete,
            walk=walk,
            starts_over=starts_over,
            sweep=sweep,
            watermark=page.watermark,
        )
        # A row that changed during a walk from the beginning comes after it, and may have been swept.
        if once and complete and not sweep:
            return
        if complete and not once:
            # The first answer, and one with news, could not show whether the API waits.
            waits = page.waited or (wait_s > 0 and (since in (None, _LATEST) or bool(page.items)))
            time.sleep(max(0.0, asked_at + (_LEAST_INTERVAL_S if waits else poll_s) - time.monotonic()))
        if complete:
            walk = ""
        since, starts_over = page.cursor, False


def _opened(cursor: str | None) -> tuple[str, str | None]:
    """The walk and the API's cursor of a stored one; a new walk where there is none."""
    if not cursor:
        return secrets.token_hex(8), None
    # The alphabet of the API's cursors has no colon.
    walk, _, since = cursor.rpartition(":")
    return walk, since


def _stored(walk: str, cursor: str) -> str:
    """A cursor that names the walk from the beginning to which it belongs, for a program that ends before the walk does."""
    return f"{walk}:{cursor}" if walk else cursor


def _page_since(
    connection: Connection, path: str, since: str | None, parameters: Parameters, *, wait_s: int, patience_s: float
) -> _Page:
    def read(body: Any, headers: httpx.Headers) -> _Page:
        if not isinstance(body, dict):
            raise InvalidAnswerError("the answer is no page of changes")
        items, cursor, has_more = body.get("items"), body.get("cursor"), body.get("hasMore")
        if not isinstance(items, list) or not isinstance(cursor, str) or not isinstance(has_more, bool):
            raise InvalidAnswerError("the answer is no page of changes")
        if not cursor or not all(map(_is_row, items)):
            raise InvalidAnswerError("the answer is no page of changes")
        # It would be asked for again and again, without a pause.
        if has_more and (not items or cursor == since):
            raise InvalidAnswerError("the answer leads no further")
        return _Page(items, cursor, has_more, "preference-applied" in headers, headers.get("replica-watermark"))

    after = {} if since is None else {"cursor": since}
    return connection.ask(path, {**parameters, **after}, read, wait_s=wait_s, patience_s=patience_s)


def _is_row(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("id"), str) and isinstance(item.get("deleted"), bool)

"""Reads a list as one stream."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, TypeVar, cast

import httpx

from ._connection import Connection, Parameters, invalid
from ._json import read_json
from .errors import ApiConnectionError

ItemT = TypeVar("ItemT")


class Export(Generic[ItemT]):
    """All items of a list, of one moment. Iterate over it once; `with` closes it also when the program stops earlier."""

    cursor: str | None
    """Where `follow` goes on, with the same `view` and `fields`; `None` while the feed cannot be read."""
    watermark: str | None
    """Everything that the product wrote before this instant is in it; `None` while that is not known."""

    def __init__(self, connection: Connection, path: str, parameters: Parameters) -> None:
        self._response = connection.stream(path, parameters)
        self.cursor = self._response.headers.get("changes-cursor")
        self.watermark = self._response.headers.get("replica-watermark")

    def __iter__(self) -> Iterator[ItemT]:
        """The items. Raises ApiConnectionError if the export is cut before its end: those that came are then not all."""
        count, rest = 0, b""
        try:
            for part in self._response.iter_bytes():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield cast(ItemT, self._item(line))
                    count += 1
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ApiConnectionError(f"the export was cut after {count} items: {error or type(error).__name__}") from error
        finally:
            self.close()
        # A proxy that speaks HTTP/1.0 may end a cut answer in order. Each line of a whole one ends with a line break.
        if rest:
            raise ApiConnectionError(f"the export was cut within the line after {count} items")

    def _item(self, line: bytes) -> object:
        try:
            return read_json(line)
        except ValueError as error:
            raise invalid(self._response) from error

    def close(self) -> None:
        self._response.close()

    def __enter__(self) -> Export[ItemT]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

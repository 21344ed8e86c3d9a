"""The client of the API."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, cast, overload
from urllib.parse import quote

import httpx

from ._connection import Connection
from ._export import Export
from ._follow import Batch, follow_changes
from ._parameters import Fields, FormFilters, RecordFilters, View, filters, parameters
from ._typing import Unpack
from .errors import InvalidAnswerError
from .models import (
    Form,
    FormChange,
    FormList,
    FormSummary,
    Submission,
    SubmissionChange,
    SubmissionCounts,
    SubmissionList,
    SubmissionSummary,
)

PageT = TypeVar("PageT", FormList, SubmissionList)
ItemT = TypeVar("ItemT")

_MOST_OF_A_PAGE = 100
_LONGEST_WAIT_S = 60
_FEEDS = {"forms": "form-changes", "records": "record-changes"}


class Tidemark:
    """A team's forms and submissions.

    ```python
    with Tidemark("https://quiz.example/api/v1", "rqp_acct_...") as client:
        for record in client.records.list(level="fail"):
            print(record["id"])
    ```

    `base_url` ends with `/api/v1`. Requests that fail for a reason that passes (no connection, a cut answer, 408, 429, 5xx) are sent again, after
    as long as `Retry-After` says, until they have failed for `retry_seconds`; `math.inf` never gives up. Each such failure is a warning of the
    logger `tidemark_client`. `timeout_seconds` is for how long nothing may come. `http` is a client of one's own, with a proxy or certificates
    for example, which is not closed. Several threads may use one Tidemark.
    """

    forms: Forms
    records: Records

    def __init__(
        self,
        base_url: str,
        account_key: str,
        *,
        timeout_seconds: float = 60.0,
        retry_seconds: float = 120.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._connection = Connection(base_url, account_key, timeout_s=timeout_seconds, patience_s=retry_seconds, http=http)
        self.forms = Forms(self._connection)
        self.records = Records(self._connection)

    @overload
    def follow(
        self,
        list: Literal["records"],
        cursor: str | None = None,
        *,
        view: View | None = None,
        fields: Fields | None = None,
        limit: int = 1_000,
        wait_seconds: int = 30,
        poll_seconds: float = 5.0,
        once: bool = False,
        on_expired: Literal["restart", "raise"] = "restart",
    ) -> Iterator[Batch[SubmissionChange]]: ...

    @overload
    def follow(
        self,
        list: Literal["forms"],
        cursor: str | None = None,
        *,
        view: View | None = None,
        fields: Fields | None = None,
        limit: int = 1_000,
        wait_seconds: int = 30,
        poll_seconds: float = 5.0,
        once: bool = False,
        on_expired: Literal["restart", "raise"] = "restart",
    ) -> Iterator[Batch[FormChange]]: ...

    def follow(
        self,
        list: Literal["forms", "records"],
        cursor: str | None = None,
        *,
        view: View | None = None,
        fields: Fields | None = None,
        limit: int = 1_000,
        wait_seconds: int = 30,
        poll_seconds: float = 5.0,
        once: bool = False,
        on_expired: Literal["restart", "raise"] = "restart",
    ) -> Iterator[Batch[Any]]:
        """Batches of everything that is new, changed or deleted since `cursor`, for ever; with `once` until there is nothing more.

        Apply the rows of a batch and store its `cursor` in one transaction. Without a cursor, everything that exists comes first. `"latest"`
        begins with later changes. If the cursor has expired (410), everything comes again: the first batch of this walk has `starts_over`, the
        last one `sweep`. With `on_expired="raise"`, a CursorExpiredError is raised instead.

        Each request waits for a change up to `wait_seconds`, at most 60. If the API does not wait, or with 0, it is polled every `poll_seconds`.
        Temporary failures are retried for ever, with `once` for the client's `retry_seconds`. A cursor belongs to its `view` and `fields`.
        """
        if list not in _FEEDS:
            raise ValueError(f"list must be 'forms' or 'records', not {list!r}")
        if wait_seconds not in range(_LONGEST_WAIT_S + 1):
            raise ValueError(f"wait_seconds must be an integer from 0 to {_LONGEST_WAIT_S}, not {wait_seconds}")
        return follow_changes(
            self._connection,
            _FEEDS[list],
            cursor,
            parameters(view=view, fields=fields, limit=limit),
            wait_s=0 if once else wait_seconds,
            poll_s=poll_seconds,
            once=once,
            restarts=on_expired == "restart",
            patience_s=self._connection.patience_s if once else math.inf,
        )

    def counts(
        self,
        by: str,
        *,
        code: str | None = None,
        scores: bool | None = None,
        time_zone: str | None = None,
        **selected_by: Unpack[RecordFilters],
    ) -> SubmissionCounts:
        """Counts submissions `by` time or value: `"day"`, `"level"`, `"day,level"`, `"answer"` to the field `code`."""
        wanted = parameters(by=by, code=code, scores=scores, time_zone=time_zone)
        return cast(SubmissionCounts, _ask(self._connection, "record-counts", {**wanted, **filters(selected_by, RecordFilters)}))

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()

    def __enter__(self) -> Tidemark:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Pages(Generic[PageT, ItemT]):
    """The items of a list, newest first. Iterating reads page after page.

    For people and dashboards: an item that moves meanwhile may be missed. To copy a list, use `follow` or `export`.
    """

    def __init__(self, connection: Connection, path: str, selection: dict[str, str], limit: int) -> None:
        self._connection = connection
        self._path = path
        self._selection = {**selection, "limit": str(limit)}
        self._limit = limit

    def page(self, number: int = 1) -> PageT:
        """A page as the API answers it, with `totalDocs`."""
        return cast(PageT, _ask(self._connection, self._path, {**self._selection, "page": str(number)}))

    def __iter__(self) -> Iterator[ItemT]:
        number = 0
        while True:
            number += 1
            items = cast("list[ItemT]", self.page(number)["items"])
            yield from items
            if len(items) < self._limit:
                return


class Forms:
    """The team's forms."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self, *, fields: Fields | None = None, limit: int = _MOST_OF_A_PAGE, **selected_by: Unpack[FormFilters]
    ) -> Pages[FormList, FormSummary]:
        """The forms that match all filters, newest first; `limit` is the size of a page, at most 100."""
        selection = {**parameters(fields=fields), **filters(selected_by, FormFilters)}
        return Pages(self._connection, "forms", selection, limit)

    def get(
        self,
        id: str,
        *,
        fields: Fields | None = None,
        include_fields: bool | None = None,
        include_report: bool | None = None,
    ) -> Form:
        """One form. Raises NotFoundError."""
        wanted = parameters(fields=fields, include_fields=include_fields, include_report=include_report)
        return cast(Form, _ask(self._connection, f"forms/{_segment(id)}", wanted))

    @overload
    def export(
        self, *, view: Literal["summary"] = "summary", fields: Fields | None = None, **selected_by: Unpack[FormFilters]
    ) -> Export[FormSummary]: ...

    @overload
    def export(
        self, *, view: Literal["full"], fields: Fields | None = None, **selected_by: Unpack[FormFilters]
    ) -> Export[Form]: ...

    def export(self, *, view: View = "summary", fields: Fields | None = None, **selected_by: Unpack[FormFilters]) -> Export[Any]:
        """All forms that match the filters, as one stream, of one moment."""
        return Export(self._connection, "forms", {**parameters(view=view, fields=fields), **filters(selected_by, FormFilters)})


class Records:
    """The team's submissions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self, *, fields: Fields | None = None, limit: int = _MOST_OF_A_PAGE, **selected_by: Unpack[RecordFilters]
    ) -> Pages[SubmissionList, SubmissionSummary]:
        """The submissions that match all filters, newest first; `limit` is the size of a page, at most 100."""
        selection = {**parameters(fields=fields), **filters(selected_by, RecordFilters)}
        return Pages(self._connection, "records", selection, limit)

    def get(self, id: str, *, fields: Fields | None = None) -> Submission:
        """One submission with its full report. Raises NotFoundError."""
        return cast(Submission, _ask(self._connection, f"records/{_segment(id)}", parameters(fields=fields)))

    @overload
    def export(
        self, *, view: Literal["summary"] = "summary", fields: Fields | None = None, **selected_by: Unpack[RecordFilters]
    ) -> Export[SubmissionSummary]: ...

    @overload
    def export(
        self, *, view: Literal["full"], fields: Fields | None = None, **selected_by: Unpack[RecordFilters]
    ) -> Export[Submission]: ...

    def export(self, *, view: View = "summary", fields: Fields | None = None, **selected_by: Unpack[RecordFilters]) -> Export[Any]:
        """All submissions that match the filters, as one stream, of one moment."""
        return Export(self._connection, "records", {**parameters(view=view, fields=fields), **filters(selected_by, RecordFilters)})


def _ask(connection: Connection, path: str, wanted: dict[str, str]) -> Any:
    """The JSON object that the API answers."""

    def read(body: Any, _: httpx.Headers) -> Any:
        if not isinstance(body, dict):
            raise InvalidAnswerError("the answer is no JSON object")
        return body

    return connection.ask(path, wanted, read)


def _segment(id: str) -> str:
    """An id in a path, where `.` and `..` would lead elsewhere, and an empty one to the list."""
    if not id:
        raise ValueError("an id is not empty")
    return quote(id, safe="").replace(".", "%2E")

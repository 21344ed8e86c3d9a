"""A dlt source for a team's quiz forms and submissions.

    import dlt
    from tidemark_dlt import tidemark

    pipeline = dlt.pipeline("quiz", destination="duckdb", dataset_name="quiz")
    pipeline.run(tidemark("https://quiz.example/api/v1", account_key="rqp_acct_..."))

Every run follows the change feed of each list from the cursor of the run before to its end. Rows are merged by `id`; a deleted entity
leaves its table. The cursor is stored with the rows: a run that fails is repeated from the same point. Without a cursor, or with one
that is too old, a run reads everything and replaces the table.
"""

import json
import math
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import dlt
import requests
from dlt.extract import DltResource

__all__ = ["tidemark"]

PATHS = {"forms": "form-changes", "records": "record-changes"}
ROWS_AT_ONCE = 1_000
CONNECT_TIMEOUT_S = 10
# Between two bytes of an answer, not for all of it.
READ_TIMEOUT_S = 120
# For one page, one after the other.
MAX_WAITS = 30
PAUSE_S = 5.0


@dlt.source(name="tidemark")
def tidemark(
    base_url: str = dlt.config.value,
    account_key: str = dlt.secrets.value,
    view: str = "summary",
    fields: dict[str, str] | None = None,
) -> Iterable[DltResource]:
    """The tables `forms` and `records`. With `view="full"` rows hold what the single endpoints answer.

    `fields` leaves only these fields, besides `id`, `changedAt` and `deleted`, in the rows of a table:
    `{"records": "submittedAt,result.score"}` loads no personal data. The first run with another view or other fields replaces the table.
    """
    for name in PATHS:
        yield dlt.resource(
            changed_rows,
            name=name,
            write_disposition="merge",
            primary_key="id",
            columns={"id": {"data_type": "text", "nullable": False}, "deleted": {"data_type": "bool", "hard_delete": True}},
            max_table_nesting=0,
        )(base_url, account_key, name, view, (fields or {}).get(name))


def changed_rows(base_url: str, account_key: str, name: str, view: str, fields: str | None) -> Iterator[Any]:
    """Rows since the last run, each with `deleted`; or everything that exists, which replaces the table."""
    state = dlt.current.resource_state()
    selection = {"view": view} if fields is None else {"view": view, "fields": fields}
    # A cursor belongs to the view and the fields that it was asked with.
    cursor = state.get("cursor") if state.get("selection") == selection else None
    url = f"{base_url.rstrip('/')}/{PATHS[name]}"
    headers = {"Authorization": f"Bearer {account_key}"}

    def page_after(cursor: str | None) -> dict | None:
        since = {} if cursor is None else {"cursor": cursor}
        return page(url, {"limit": str(ROWS_AT_ONCE), **selection, **since}, headers)

    found = None if cursor is None else page_after(cursor)
    if found is None:
        # The table may have rows whose deletion no answer tells any more. This walk names everything that exists, maybe nothing.
        yield dlt.mark.with_hints(dlt.mark.materialize_table_schema(), dlt.mark.make_hints(write_disposition="replace"))
        found = page_after(None)
    while True:
        if found is None:
            # The rows of this walk cannot be taken back, and those of a new one would come on top. Nothing of a run that fails is loaded.
            raise RuntimeError("the cursor expired during the run; the next run begins anew")
        yield found["items"]
        if not found["hasMore"]:
            break
        found = page_after(found["cursor"])
    state.update(cursor=found["cursor"], selection=selection)


def page(url: str, params: dict[str, str], headers: dict[str, str]) -> dict | None:
    """A page of changes; None if its cursor is too old. Waits out what passes, as long as `Retry-After` says."""
    for _ in range(MAX_WAITS):
        try:
            answer = requests.get(url, params=params, headers=headers, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S))
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            problem, wait_s = str(error), PAUSE_S
        else:
            if answer.ok:
                return json.loads(answer.content, parse_int=whole_number, parse_float=real_number)
            if answer.status_code == 410:
                return None
            problem, wait_s = f"{answer.status_code} {answer.text}", seconds_of(answer.headers.get("Retry-After"))
            if answer.status_code != 429 and answer.status_code < 500:
                break
        time.sleep(wait_s)
    raise RuntimeError(problem)


def seconds_of(retry_after: str | None) -> float:
    """How long `Retry-After` asks to wait: a number of seconds, or a date."""
    if retry_after is None:
        return PAUSE_S
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        wait_s = (parsedate_to_datetime(retry_after) - datetime.now(timezone.utc)).total_seconds()
    except ValueError:
        return PAUSE_S
    return wait_s if wait_s > 0 else PAUSE_S


def whole_number(digits: str) -> int | str:
    """An integer; one beyond 64 bits, which dlt cannot store, as text with its digits."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else digits


def real_number(digits: str) -> float | str:
    """A double; a number beyond its range, which dlt would store as null, as text with its digits."""
    number = float(digits)
    return number if math.isfinite(number) else digits

"""A dlt source for a team's quiz forms and submissions.

    import dlt
    from tidemark_dlt import tidemark

    pipeline = dlt.pipeline("quiz", destination="duckdb", dataset_name="replica")
    pipeline.run(tidemark("https://quiz.example/api/v1", account_key="rqp_acct_..."))

Every run follows the change feed of each list from the cursor of the run before to its end. Rows are merged by `id`; a deleted entity
leaves its table. The cursor is stored with the rows: a run that fails is repeated from the same point. Without a cursor, or with one
that is too old, a run reads everything and replaces the table.
"""

import json
import math
import re
import sys
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
# Whatever the first row has: dlt stores the year 0000, which Python's times lack, beside such a column, as text.
TIMES = {"forms": ["createdAt", "updatedAt"], "records": ["submittedAt", "updatedAt"]}
# dlt writes no JSON that is nested more than 254 levels deep, and Python reads none of more than about 1,000.
LEVELS = 100
MORE_RECURSION = 20_000
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# In JSON, behind an even number of backslashes.
NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
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
        named = (fields or {}).get(name)
        times = [each for each in TIMES[name] if named is None or each in named.split(",")]
        yield dlt.resource(
            changed_rows,
            name=name,
            write_disposition="merge",
            primary_key="id",
            columns={
                "id": {"data_type": "text", "nullable": False},
                "deleted": {"data_type": "bool", "hard_delete": True},
                **{each: {"data_type": "timestamp"} for each in times},
            },
            max_table_nesting=0,
        )(base_url, account_key, name, view, named)


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
                return parsed(answer.content)
            if answer.status_code == 410:
                return None
            problem, wait_s = f"{answer.status_code} {answer.text}", seconds_of(answer.headers.get("Retry-After"))
            if answer.status_code != 429 and answer.status_code < 500:
                break
        time.sleep(wait_s)
    raise RuntimeError(problem)


def parsed(content: bytes) -> dict:
    """A page. What dlt or its destinations cannot store becomes text: integers beyond 64 bits, numbers beyond a double, and what is nested deeper
    than 100 levels, as JSON. U+FFFD stands for NUL, which PostgreSQL has not in JSON and dlt leaves out of texts."""
    deep = is_deep(content)
    if deep:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), MORE_RECURSION))
    page = json.loads(NUL.sub(rb"\1\\ufffd", content), parse_int=whole_number, parse_float=real_number)
    return {**page, "items": [cut(row, LEVELS) for row in page["items"]]} if deep else page


def is_deep(content: bytes) -> bool:
    """Whether JSON may be nested more than 100 levels deep; it surely is not more than 200 where it is not."""
    brackets = STRING.sub(b"", content).translate(None, ALL_BUT_BRACKETS)
    for _ in range(LEVELS):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def cut(value: Any, levels: int) -> Any:
    """The same value, with JSON as text for what is nested deeper."""
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return {name: cut(each, levels - 1) for name, each in value.items()}
    return [cut(each, levels - 1) for each in value]


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

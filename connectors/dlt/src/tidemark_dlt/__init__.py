"""A dlt source for a team's quiz forms and submissions.

    import dlt
    from tidemark_dlt import tidemark

    pipeline = dlt.pipeline("quiz", destination="duckdb", dataset_name="quiz")
    pipeline.run(tidemark("https://quiz.example/api/v1", account_key="rqp_acct_..."))

Every run loads what has changed since the run before, as one NDJSON stream and in one snapshot. Rows are merged by `id`; a deleted
entity leaves its table. The next starting point, the `Replica-Watermark` of the answer, is stored with the rows: a run that fails is
repeated from the same point.
"""

import json
import math
import time
from collections.abc import Iterable, Iterator

import dlt
import requests
from dlt.extract import DltResource

__all__ = ["tidemark"]

# Before the first change of any team: the first run also asks for deletions, so that it needs no path of its own.
BEGINNING = "1970-01-01T00:00:00.000Z"
# Between two bytes of an answer, not for all of it.
READ_TIMEOUT_S = 120
CONNECT_TIMEOUT_S = 10
MAX_WAITS = 30
ROWS_AT_ONCE = 500
CHUNK_BYTES = 65_536


@dlt.source(name="tidemark")
def tidemark(
    base_url: str = dlt.config.value,
    account_key: str = dlt.secrets.value,
    view: str = "summary",
    fields: dict[str, str] | None = None,
) -> Iterable[DltResource]:
    """The tables `forms` and `records`. With `view="full"` rows hold what the single endpoints answer.

    `fields` leaves only these fields, besides `id`, in the rows of a table: `{"records": "submittedAt,result.score"}` loads no personal data.
    """
    for name in ("forms", "records"):
        yield dlt.resource(
            changed_rows,
            name=name,
            write_disposition="merge",
            primary_key="id",
            columns={"id": {"data_type": "text", "nullable": False}, "deleted": {"data_type": "bool", "hard_delete": True}},
            max_table_nesting=0,
        )(base_url, account_key, name, view, (fields or {}).get(name))


def changed_rows(base_url: str, account_key: str, name: str, view: str, fields: str | None) -> Iterator[list[dict]]:
    """Rows changed since the last run, and `{"id", "deleted": true}` for each deleted entity."""
    state = dlt.current.resource_state()
    params = {"changedSince": state.get("watermark", BEGINNING), "includeDeleted": "true", "view": view}
    if fields is not None:
        params["fields"] = f"id,{fields}"
    answer = ask(
        f"{base_url.rstrip('/')}/{name}",
        params,
        {"Authorization": f"Bearer {account_key}", "Accept": "application/x-ndjson"},
    )
    with answer:
        watermark = answer.headers["Replica-Watermark"]
        rows = []
        # An answer that breaks off raises here, and the run with it: nothing of it is loaded.
        for line in answer.iter_lines(CHUNK_BYTES):
            rows.append(json.loads(line, parse_int=whole_number, parse_float=real_number))
            if len(rows) == ROWS_AT_ONCE:
                yield rows
                rows = []
        yield rows
    state["watermark"] = watermark


def whole_number(digits: str) -> int | str:
    """An integer; one beyond 64 bits, which dlt cannot store, as text with its digits."""
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else digits


def real_number(digits: str) -> float | str:
    """A double; a number beyond its range, which dlt would store as null, as text with its digits."""
    number = float(digits)
    return number if math.isfinite(number) else digits


def ask(url: str, params: dict[str, str], headers: dict[str, str]) -> requests.Response:
    """The answer as a stream. Waits as long as `Retry-After` says when the minute is used up or the replica is unavailable."""
    for _ in range(MAX_WAITS):
        answer = requests.get(
            url, params=params, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
        )
        if answer.status_code not in (429, 503):
            break
        answer.close()
        time.sleep(float(answer.headers.get("Retry-After", 5)))
    if not answer.ok:
        raise RuntimeError(f"{answer.status_code} {answer.text}")
    return answer

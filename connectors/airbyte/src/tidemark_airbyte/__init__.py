"""An Airbyte source for a team's quiz forms and submissions.

Each sync follows the change feed of both lists from the cursor in its state to the end. A destination that removes duplicates by
the primary key ends with each entity once, as it is now, and drops what was deleted.
"""

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import requests
from airbyte_cdk.models import FailureType
from airbyte_cdk.sources import AbstractSource
from airbyte_cdk.sources.streams import CheckpointMixin
from airbyte_cdk.sources.streams.http import HttpStream
from airbyte_cdk.sources.streams.http.error_handlers import BackoffStrategy, ErrorResolution, HttpStatusErrorHandler, ResponseAction
from airbyte_cdk.sources.streams.http.error_handlers.default_error_mapping import DEFAULT_ERROR_MAPPING
from airbyte_cdk.sources.streams.http.requests_native_auth import TokenAuthenticator

from tidemark_airbyte.schemas import schema_of

__all__ = ["Tidemark"]

PATHS = {"forms": "form-changes", "records": "record-changes"}
ROWS_AT_ONCE = 1_000
MAX_RETRIES = 10
TIMEOUT_S = 30
# Python reads and writes no JSON of more than about 1,000 levels.
LEVELS = 100
MORE_RECURSION = 20_000
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

# Airbyte removes the rows of former syncs only when somebody asks for it: no source can.
BEGIN_ANEW = "Refresh the stream with 'Refresh and remove records', so that the next sync reads everything and what it does not name goes."
ERRORS = {
    **DEFAULT_ERROR_MAPPING,
    400: ErrorResolution(
        response_action=ResponseAction.FAIL,
        failure_type=FailureType.config_error,
        error_message=f"The API refuses the request. After a change of the account key's team, of the view or of the fields: {BEGIN_ANEW}",
    ),
    410: ErrorResolution(
        response_action=ResponseAction.FAIL,
        failure_type=FailureType.config_error,
        error_message=f"The API cannot tell any more what was deleted since the last sync. {BEGIN_ANEW}",
    ),
}


class Tidemark(AbstractSource):
    """The streams `forms` and `records`."""

    def check_connection(self, logger: Any, config: Mapping[str, Any]) -> tuple[bool, Any]:
        """Asks for a cursor, which reads no row."""
        try:
            answer = requests.get(
                f"{config['base_url'].rstrip('/')}/{PATHS['forms']}",
                params={"cursor": "latest"},
                headers={"Authorization": f"Bearer {config['account_key']}"},
                timeout=TIMEOUT_S,
            )
        except requests.RequestException as error:
            return False, str(error)
        return (True, None) if answer.ok else (False, f"{answer.status_code} {answer.text}")

    def streams(self, config: Mapping[str, Any]) -> list["Changes"]:
        view = config.get("view", "summary")
        named = {"forms": config.get("form_fields"), "records": config.get("record_fields")}
        return [
            Changes(config["base_url"], config["account_key"], name, view, f"id,{fields}" if fields else None)
            for name, fields in named.items()
        ]


class Changes(HttpStream, CheckpointMixin):
    """Rows of a change feed. Its state is `{"cursor", "synced_at"}`."""

    primary_key = "id"
    # Of several rows of an entity, destinations keep the one with the greatest value.
    cursor_field = "synced_at"
    state_checkpoint_interval = ROWS_AT_ONCE

    def __init__(self, base_url: str, account_key: str, name: str, view: str, fields: str | None):
        self._base_url, self._name, self._view, self._fields = base_url, name, view, fields
        self._state: dict[str, Any] = {}
        self._has_more = False
        super().__init__(authenticator=TokenAuthenticator(account_key))

    @property
    def name(self) -> str:
        return self._name

    @property
    def url_base(self) -> str:
        return f"{self._base_url.rstrip('/')}/"

    @property
    def state(self) -> dict[str, Any]:
        return self._state

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        self._state = dict(value)

    def get_json_schema(self) -> Mapping[str, Any]:
        return schema_of(self._name, self._view, self._fields)

    def path(self, **_: Any) -> str:
        return PATHS[self._name]

    def request_params(self, stream_state: Any, stream_slice: Any = None, next_page_token: Any = None) -> dict[str, Any]:
        cursor = self._state.get("cursor")
        return {
            "limit": ROWS_AT_ONCE,
            "view": self._view,
            **({} if self._fields is None else {"fields": self._fields}),
            **({} if cursor is None else {"cursor": cursor}),
        }

    def parse_response(self, response: requests.Response, **_: Any) -> Iterable[Mapping[str, Any]]:
        page = parsed(response.content)
        # The clock of this machine may have gone back since the last sync.
        synced_at = max(now(), self._state.get("synced_at", ""))
        for row in page["items"]:
            yield {**row, "synced_at": synced_at, **({"_ab_cdc_deleted_at": row["changedAt"]} if row["deleted"] else {})}
        # Only now: a sync that ends within the page reads it again.
        self._state = {"cursor": page["cursor"], "synced_at": synced_at}
        self._has_more = page["hasMore"]

    def next_page_token(self, response: requests.Response) -> Mapping[str, Any] | None:
        return {"cursor": self._state["cursor"]} if self._has_more else None

    def get_error_handler(self) -> HttpStatusErrorHandler:
        return HttpStatusErrorHandler(self.logger, ERRORS, max_retries=MAX_RETRIES)

    def get_backoff_strategy(self) -> BackoffStrategy:
        return RetryAfter()


class RetryAfter(BackoffStrategy):
    """Waits as long as `Retry-After` says: a number of seconds, or until a date."""

    def backoff_time(self, response_or_exception: Any, attempt_count: int) -> float | None:
        """Seconds; None leaves it to Airbyte."""
        headers = getattr(response_or_exception, "headers", {})
        value = headers.get("Retry-After", "")
        if value.isdecimal():
            return float(value)
        try:
            wait_s = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
        except ValueError:
            return None
        return wait_s if wait_s > 0 else None


def now() -> str:
    """The time in UTC, so that a later one is greater as text."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed(content: bytes) -> dict[str, Any]:
    """A page. What Airbyte's messages cannot hold becomes text: numbers beyond a double, and what is nested deeper than 100 levels, as JSON."""
    deep = is_deep(content)
    if deep:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), MORE_RECURSION))
    page = json.loads(content, parse_float=real_number)
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


def real_number(digits: str) -> float | str:
    """A double; a number beyond its range, which is no valid JSON in Airbyte's messages, as text with its digits."""
    number = float(digits)
    return number if math.isfinite(number) else digits

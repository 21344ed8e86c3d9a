"""What the manifest beside this file needs besides the low-code framework: a value of the cursor field that keeps a cursor of the change feed.

The framework keeps the greatest value of the cursor field, and compares it with numbers. A cursor of the feed is neither ordered nor a number,
so a position begins with the time at which its page was read.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import requests
from airbyte_cdk.sources.declarative.extractors.record_extractor import RecordExtractor
from airbyte_cdk.sources.declarative.migrations.state_migration import StateMigration

# What the manifest calls the cursor field.
FIELD = "position"
MICROSECOND = timedelta(microseconds=1)


class Position(str):
    """`<time> <cursor>`: a later one is greater. It lies between the numbers 0 and infinity, with which the framework begins and ends."""

    newest = ""

    @classmethod
    def behind(cls, cursor: str) -> "Position":
        """The position behind a page. It is greater than all before, even if the clock was set back."""
        now = datetime.now(timezone.utc)
        if cls.newest:
            now = max(now, datetime.fromisoformat(cls.newest) + MICROSECOND)
        cls.newest = now.isoformat(timespec="microseconds")
        return cls(f"{cls.newest} {cursor}")

    def __lt__(self, other: Any) -> bool:
        return str.__lt__(self, other) if isinstance(other, str) else other > 0

    def __gt__(self, other: Any) -> bool:
        return str.__gt__(self, other) if isinstance(other, str) else other <= 0

    def __le__(self, other: Any) -> bool:
        return self == other or self < other

    def __ge__(self, other: Any) -> bool:
        return self == other or self > other

    def __add__(self, _one: Any) -> "Position":
        """The framework asks whether the next sync begins directly behind the last one."""
        return self


@dataclass
class Rows(RecordExtractor):
    """The rows of a page of changes. Those that were deleted say when, as Airbyte's destinations want it."""

    def extract_records(self, response: requests.Response) -> Iterable[Mapping[str, Any]]:
        page = json.loads(response.content, parse_float=real_number)
        position = Position.behind(page["cursor"])
        for row in page["items"]:
            yield {**row, FIELD: position, **({"_ab_cdc_deleted_at": row["changedAt"]} if row["deleted"] else {})}


@dataclass
class StoredPosition(StateMigration):
    """Reads what the platform has stored."""

    def should_migrate(self, stream_state: Mapping[str, Any]) -> bool:
        return isinstance(stream_state.get(FIELD), str)

    def migrate(self, stream_state: Mapping[str, Any]) -> Mapping[str, Any]:
        position = Position(stream_state[FIELD])
        Position.newest = max(Position.newest, position.split(" ")[0])
        return {**stream_state, FIELD: position}


def real_number(digits: str) -> float | str:
    """A double; a number beyond its range, which is no valid JSON in Airbyte's messages, as text with its digits."""
    number = float(digits)
    return number if math.isfinite(number) else digits

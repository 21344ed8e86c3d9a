"""The parameters of requests: as Python has them, and as the API does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, Literal, TypedDict

Fields = str | Sequence[str]
"""What each item is to hold: `"id,result.score"`, or a list of such names."""

Time = str | date | datetime
"""ISO 8601, a date (the whole day in UTC), or a datetime; one without a time zone is UTC."""

View = Literal["summary", "full"]


class FormFilters(TypedDict, total=False):
    """What `/forms` selects by. All hold together."""

    scene: Literal["knowledge_quiz", "random_knowledge_quiz", "scored_quiz", "outcome_quiz"]
    title_contains: str
    changed_since: Time
    changed_until: Time


class RecordFilters(TypedDict, total=False):
    """What `/records` selects by. All hold together."""

    form_id: str
    status: Literal["pending", "processing", "completed", "failed"]
    email: str
    examinee_id: str
    serial_number: int
    share_token: str
    level: str
    outcome_code: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    answers: Mapping[str, str | Sequence[str]]
    min_score: float
    max_score: float
    since: Time
    until: Time
    changed_since: Time
    changed_until: Time


def filters(given: Mapping[str, Any], known: type) -> dict[str, str]:
    """The parameters for the filters of a class above. Raises TypeError for any other: the API would ignore it, and select everything."""
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(f"unknown filter {name!r}; there are {', '.join(known.__annotations__)}")
    return parameters(**given)


def parameters(**given: Any) -> dict[str, str]:
    """Parameters by their names in the API, as text; those that are None are left out."""
    return {_camel_case(name): _text(value) for name, value in given.items() if value is not None}


def _camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(timezone.utc)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, Sequence):
        return ",".join(value)
    return str(value)

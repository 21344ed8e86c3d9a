"""Repeats what failed for a reason that passes."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpx

from .errors import ApiConnectionError, ApiError, InvalidAnswerError, TidemarkError

logger = logging.getLogger("tidemark_client")

T = TypeVar("T")

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
# A wrong date of a proxy must not stop a program for days.
_LONGEST_RETRY_AFTER_S = 3_600.0


def passes(error: TidemarkError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, ApiError):
        return error.status in (408, 429) or error.status >= 500
    return isinstance(error, (ApiConnectionError, InvalidAnswerError))


def repeat(attempt: Callable[[], T], patience_s: float) -> T:
    """What `attempt` returns in the end. It is called again after failures that pass, as long as they have not lasted `patience_s`.

    Between two attempts it waits as `Retry-After` says; where that says nothing, for about 1 s, 2 s, 4 s, up to a minute.
    """
    pause_s = _FIRST_PAUSE_S
    ends_at: float | None = None
    while True:
        try:
            return attempt()
        except TidemarkError as error:
            if not passes(error):
                raise
            now = time.monotonic()
            ends_at = now + patience_s if ends_at is None else ends_at
            asked_s = error.retry_after if isinstance(error, ApiError) else None
            wait_s = pause_s * random.uniform(0.5, 1) if asked_s is None else asked_s
            if now + wait_s > ends_at:
                raise
            logger.warning("%s; asking again in %.1f s", error, wait_s)
        if asked_s is None:
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        time.sleep(wait_s)


def retry_after_seconds(headers: httpx.Headers) -> float | None:
    """How long `Retry-After` asks to wait, at most an hour; `None` if it is missing, unreadable or over.

    A date is compared with that of the answer: this machine's clock may be wrong.
    """
    value = headers.get("retry-after", "")
    seconds = float(value) if re.fullmatch("[0-9]{1,12}", value) else _seconds_until(value, headers.get("date", ""))
    return None if seconds is None or seconds <= 0 else min(seconds, _LONGEST_RETRY_AFTER_S)


def _seconds_until(value: str, now: str) -> float | None:
    then = _instant(value)
    return None if then is None else (then - (_instant(now) or datetime.now(timezone.utc))).total_seconds()


def _instant(value: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=timezone.utc)

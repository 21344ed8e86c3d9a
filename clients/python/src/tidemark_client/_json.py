"""Reads JSON so that no value that the API serves is refused, or cannot be written as JSON again."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

# Answers may be nested 998 levels deep. Before Python 3.12, the interpreter gives up a little earlier than that.
_DEEP = 4_000


def read_json(text: bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none.

    Integers have all their digits. Other numbers are doubles; one beyond their range (1e400) is a `str` with its digits, because `inf`
    would be written as `Infinity`, which is no JSON.
    """
    try:
        return json.loads(text, parse_float=_real_number)
    except RecursionError:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))
        return json.loads(text, parse_float=_real_number)


def _real_number(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits

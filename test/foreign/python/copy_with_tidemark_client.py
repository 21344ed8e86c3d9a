"""Copies both lists by the Python client, by the change feed and by an export, and prints each copy as a line of JSON: where it is from, and its rows.
Then the data frame of pandas, a row without its missing values: TIDEMARK_URL, TIDEMARK_KEY."""

from __future__ import annotations

import json
import os
from typing import Any

import pandas
from pandas_records import selected_records
from tidemark_client import Tidemark


def say(source: str, rows: list[Any]) -> None:
    # Without NaN and Infinity, which are no JSON.
    print(json.dumps([source, rows], allow_nan=False))


with Tidemark(os.environ["TIDEMARK_URL"], os.environ["TIDEMARK_KEY"]) as client:
    for name, entities in (("forms", client.forms), ("records", client.records)):
        for view in ("summary", "full"):
            copy: dict[str, Any] = {}
            for batch in client.follow(name, view=view, limit=50, once=True):  # type: ignore[call-overload]
                for row in batch.rows:
                    if row["deleted"]:
                        copy.pop(row["id"], None)
                    else:
                        copy[row["id"]] = row
            say(f"{name} {view} follow", list(copy.values()))
            with entities.export(view=view) as export:
                say(f"{name} {view} export", list(export))
    table = selected_records(client)
    rows = [
        {column: value for column, value in row.items() if isinstance(value, (dict, list)) or not pandas.isna(value)}
        for row in table.to_dict("records")
    ]
    say("records pandas", rows)

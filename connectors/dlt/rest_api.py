"""Keeps a copy of a team's forms and submissions current with dlt's own `rest_api` source, and nothing of Tidemark:

    pip install "dlt[duckdb]"
    TIDEMARK_URL=https://quiz.example/api/v1 TIDEMARK_KEY=rqp_acct_... python rest_api.py

Every run reads what has changed since the run before, and removes what was deleted. `python rest_api.py anew` reads everything and replaces
the tables: after 410 `cursor_expired`, another `view` or other `fields`.
"""

import json
import math
import os
import re
import sys

import dlt
from dlt.sources.rest_api import rest_api_source


def resource(name, path, *times):
    return {
        "name": name,
        "primary_key": "id",
        "write_disposition": "merge",
        "columns": {
            "id": {"data_type": "text"},
            "deleted": {"data_type": "bool", "hard_delete": True},
            # Whatever the first row has: the year 0000, which Python's times lack, is stored beside such a column, as text.
            **{each: {"data_type": "timestamp"} for each in times},
        },
        "max_table_nesting": 0,
        "endpoint": {
            "path": path,
            "params": {"limit": 1000},
            "paginator": {"type": "cursor", "cursor_path": "cursor", "cursor_param": "cursor", "has_more_path": "hasMore"},
            "data_selector": "items",
            "incremental": {
                "start_param": "cursor",
                "cursor_path": "page_cursor",
                "on_cursor_value_missing": "include",
                # The newest, for cursors cannot be compared.
                "last_value_func": lambda values: values[0],
            },
            "response_actions": [{"status_code": 200, "action": make_loadable}],
        },
    }


def make_loadable(response):
    """Gives the last row of a page the cursor that stands beside the rows: dlt looks for it in rows only.

    Makes text of numbers that dlt cannot store (integers beyond 64 bits, others beyond a double), and U+FFFD of NUL, which PostgreSQL cannot.
    """

    def whole(digits):
        return int(digits) if -(2**63) <= int(digits) < 2**63 else digits

    def real(digits):
        return float(digits) if math.isfinite(float(digits)) else digits

    content = re.sub(rb"(?<!\\)((?:\\\\)*)\\u0000", rb"\1\\ufffd", response.content)
    page = json.loads(content, parse_int=whole, parse_float=real)
    for row in page["items"][-1:]:
        row["page_cursor"] = page["cursor"]
    response._content = json.dumps(page).encode()


source = rest_api_source(
    {
        "client": {"base_url": os.environ["TIDEMARK_URL"], "auth": {"token": os.environ["TIDEMARK_KEY"]}},
        "resources": [
            resource("forms", "form-changes", "createdAt", "updatedAt"),
            resource("records", "record-changes", "submittedAt", "updatedAt"),
        ],
    },
    name="tidemark",
)
pipeline = dlt.pipeline("quiz", destination="duckdb", dataset_name="replica")
pipeline.run(source, refresh="drop_resources" if sys.argv[1:] == ["anew"] else None)

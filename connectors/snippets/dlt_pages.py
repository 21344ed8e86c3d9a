"""Loads a team's forms and submissions into DuckDB, and on every later run what is new or has changed since.

    TIDEMARK_URL=http://127.0.0.1:3000/api/v1 TIDEMARK_KEY=rqp_acct_... python dlt_pages.py team.duckdb

`forms` and `records` follow the `Replica-Watermark`, and so hold every change. `new_records` follows `submittedAt`,
needs nothing but settings, and holds each submission as it was when it was first seen.
"""

import os
import sys

import dlt
from dlt.sources.helpers.rest_client.paginators import PageNumberPaginator
from dlt.sources.rest_api import rest_api_source

PAGE_SIZE = int(os.environ.get("PAGE_SIZE", "100"))


class ChangedSinceLastRun(PageNumberPaginator):
    """The pages of what has changed since the run before; the first page's watermark is where the next run begins."""

    def __init__(self):
        super().__init__(base_page=1, page_param="page", total_path=None)
        self.is_first_page = True

    def init_request(self, request):
        super().init_request(request)
        watermark = dlt.current.resource_state().get("watermark")
        if watermark is not None:
            request.params["changedSince"] = watermark

    def update_state(self, response, data=None):
        super().update_state(response, data)
        if self.is_first_page and "Replica-Watermark" in response.headers:
            dlt.current.resource_state()["watermark"] = response.headers["Replica-Watermark"]
        self.is_first_page = False


source = rest_api_source(
    {
        "client": {
            "base_url": os.environ["TIDEMARK_URL"],
            "auth": {"type": "bearer", "token": os.environ["TIDEMARK_KEY"]},
        },
        "resource_defaults": {
            "primary_key": "id",
            "write_disposition": "merge",
            "max_table_nesting": 0,
            "endpoint": {"params": {"limit": PAGE_SIZE}, "data_selector": "items"},
        },
        "resources": [
            {"name": "forms", "endpoint": {"path": "forms", "paginator": ChangedSinceLastRun()}},
            {"name": "records", "endpoint": {"path": "records", "paginator": ChangedSinceLastRun()}},
            {
                "name": "new_records",
                "endpoint": {
                    "path": "records",
                    "params": {"since": "{incremental.start_value}"},
                    "incremental": {"cursor_path": "submittedAt", "initial_value": "1970-01-01T00:00:00.000Z"},
                    "paginator": {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": None},
                },
            },
        ],
    },
    name="tidemark",
)

pipeline = dlt.pipeline("tidemark", destination=dlt.destinations.duckdb(sys.argv[1]), dataset_name="replica")
pipeline.run(source)

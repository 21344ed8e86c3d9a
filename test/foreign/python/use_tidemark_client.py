"""Asks the API by everything that the Python client has, and prints the answers as a line of JSON: TIDEMARK_URL, TIDEMARK_KEY."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime, timezone

from tidemark_client import (
    ApiError,
    BadRequestError,
    Batch,
    Export,
    Form,
    FormChange,
    FormFilters,
    FormList,
    FormSummary,
    NotFoundError,
    Pages,
    RecordFilters,
    Submission,
    SubmissionChange,
    SubmissionCounts,
    SubmissionList,
    SubmissionSummary,
    Tidemark,
    UnauthorizedError,
)

url, key = os.environ["TIDEMARK_URL"], os.environ["TIDEMARK_KEY"]


def copy_of(batches: Iterable[Batch[SubmissionChange]] | Iterable[Batch[FormChange]]) -> dict[str, SubmissionChange | FormChange]:
    """What a program has that applied every row."""
    copy: dict[str, tuple[str, SubmissionChange | FormChange]] = {}
    for batch in batches:
        for row in batch.rows:
            if row["deleted"]:
                copy.pop(row["id"], None)
            else:
                copy[row["id"]] = (batch.walk, row)
        if batch.sweep:
            copy = {id: kept for id, kept in copy.items() if kept[0] == batch.walk}
    return {id: row for id, (_, row) in copy.items()}


def refused(error: ApiError) -> list[object]:
    return [type(error).__name__, error.status, error.code, error.parameter, error.request_id is not None]


with Tidemark(url, key, timeout_seconds=30, retry_seconds=60) as client:
    records = copy_of(client.follow("records", limit=10, once=True))
    forms = copy_of(client.follow("forms", view="full", fields="id,title,fields", once=True))
    first: Batch[SubmissionChange] = next(client.follow("records", "latest", wait_seconds=1, poll_seconds=1))

    pages: Pages[SubmissionList, SubmissionSummary] = client.records.list(limit=7, until=datetime(2100, 1, 1, tzinfo=timezone.utc))
    listed = [record["id"] for record in pages]
    some: RecordFilters = {"status": "completed", "min_score": 0, "answers": {"q1": ["a", "none"]}, "since": "2000-01-01"}
    completed: SubmissionList = client.records.list(fields=["id"], **some).page()
    quizzes: FormFilters = {"scene": "knowledge_quiz"}
    knowledge: FormList = client.forms.list(**quizzes).page(1)
    summaries: list[FormSummary] = list(client.forms.list(limit=5))
    counts: SubmissionCounts = client.counts("status", scores=True)
    by_month: SubmissionCounts = client.counts("month,status", time_zone="Europe/Berlin", status="completed")

    export: Export[Submission]
    with client.records.export(view="full") as export:
        whole = {record["id"]: record for record in export}
        after = list(client.follow("records", export.cursor, view="full", once=True))
    exported: Export[FormSummary] = client.forms.export(title_contains="quiz")
    titles = [form["title"] for form in exported]
    one: Submission = client.records.get(next(iter(whole)))
    form: Form = client.forms.get(summaries[0]["id"], include_fields=False, fields=["id", "title"])

    errors: list[list[object]] = []
    try:
        client.records.get("none")
    except NotFoundError as error:
        errors.append(refused(error))
    try:
        client.records.list(limit=101).page()
    except BadRequestError as error:
        errors.append(refused(error))
    try:
        next(client.follow("forms", "no-cursor"))
    except BadRequestError as error:
        errors.append(refused(error))
with Tidemark(url, "rqp_acct_unknown") as stranger:
    try:
        stranger.counts("day")
    except UnauthorizedError as error:
        errors.append(refused(error))

print(
    json.dumps(
        {
            "records": list(records.values()),
            "forms": list(forms.values()),
            "latest": [first.rows, first.complete, first.starts_over, first.walk, first.watermark is not None],
            "listed": listed,
            "completed": [record["id"] for record in completed["items"]],
            "knowledge": knowledge["totalDocs"],
            "summaries": [summary["id"] for summary in summaries],
            "counts": {item["key"]: item["count"] for item in counts["items"]},
            "byMonth": sum(item["count"] for item in by_month["items"]),
            "whole": list(whole.values()),
            "after": [[batch.rows, batch.complete] for batch in after],
            "titles": titles,
            "one": one == whole[one["id"]],
            "form": form,
            "errors": errors,
        }
    )
)

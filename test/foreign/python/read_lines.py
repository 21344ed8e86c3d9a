"""Reads a list as line readers do, and fails where it is not as the standards say: read_lines.py PATH; TIDEMARK_URL, TIDEMARK_KEY.

Prints the items, one JSON object a line.
"""

import csv
import io
import json
import os
import sys

import httpx

base_url = os.environ["TIDEMARK_URL"] + sys.argv[1]
key = {"Authorization": "Bearer " + os.environ["TIDEMARK_KEY"]}


def members(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a name stands twice: {names}"
    return dict(pairs)


def parsed(text):
    value = json.loads(text, object_pairs_hook=members)
    # Half a surrogate pair cannot be encoded.
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


with httpx.Client(headers=key, timeout=60) as client:
    page = client.get(base_url, params={"limit": 100})
    items = parsed(page.text)["items"]
    with client.stream("GET", base_url, headers={"Accept": "application/x-ndjson"}) as answer:
        lines = list(answer.iter_lines())
    assert [parsed(line) for line in lines] == items, "an export of lines has other items than the page"
    body = client.get(base_url, headers={"Accept": "application/x-ndjson"}).text
    assert body.splitlines() == lines, "splitlines has other lines"
    table = client.get(base_url, headers={"Accept": "text/csv"}).text
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    # It loses the ends of lines within cells, but no row.
    assert len(list(csv.DictReader(table.splitlines()))) == len(rows)
    for row, item in zip(rows, items, strict=True):
        assert row["id"] == item["id"]
        if "data" in row:
            assert (parsed(row["data"]) if row["data"] else None) == item["data"]
            assert row["examinee.name"] == ((item["examinee"] or {}).get("name") or "")
for item in items:
    print(json.dumps(item))

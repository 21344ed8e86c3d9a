"""A team's submissions as a pandas DataFrame, from a copy that each run brings up to date: TIDEMARK_URL, TIDEMARK_KEY;
python pandas_records.py COPY.json [OUTPUT.csv]. Needs `pip install ./clients/python pandas`."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas
from tidemark_client import Tidemark


def current_records(client: Tidemark, path: Path) -> pandas.DataFrame:
    """All submissions as they are now. Reads only what is new, changed or deleted since the last run, which has left the copy in `path`."""
    copy = json.loads(path.read_text()) if path.exists() else {"cursor": None, "rows": {}}
    for batch in client.follow("records", copy["cursor"], once=True):
        if batch.starts_over:
            copy["rows"].clear()
        for row in batch.rows:
            if row["deleted"]:
                copy["rows"].pop(row["id"], None)
            else:
                copy["rows"][row["id"]] = row
        copy["cursor"] = batch.cursor
    # Rows and cursor become the new copy at once: a run that ends before leaves the old one.
    new = path.with_suffix(".new")
    new.write_text(json.dumps(copy))
    os.replace(new, path)
    return frame(copy["rows"].values())


def selected_records(client: Tidemark, **filters: str) -> pandas.DataFrame:
    """The submissions that the filters select, without a copy: `selected_records(client, level="fail", since="2026-11-16")`."""
    with client.records.export(**filters) as export:
        return frame(export)


def frame(rows: Iterable[Mapping[str, object]]) -> pandas.DataFrame:
    """A row each, with dotted columns for the members of objects. Every number has the digits that the API sends."""
    return pandas.DataFrame([dict(cells(row)) for row in rows], dtype=object).apply(typed)


def cells(row: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{member}", each) for member, each in value.items())
        else:
            yield name, value


def typed(column: pandas.Series) -> pandas.Series:
    """The column in the type that pandas has for its values. Stays a column of objects where that would change one: pandas makes doubles of integers
    in a column with gaps, so that 9007199254740993 becomes 9007199254740992."""
    inferred = column.infer_objects()
    return inferred if inferred.dropna().eq(column.dropna()).all() else column


if __name__ == "__main__":
    with Tidemark(os.environ["TIDEMARK_URL"], os.environ["TIDEMARK_KEY"]) as client:
        records = current_records(client, Path(sys.argv[1]))
    if len(sys.argv) > 2:
        records.to_csv(sys.argv[2], index=False)
    else:
        print(records)

"""Runs connectors/snippets/duckdb.sql over a folder and prints the rows by id, one JSON object a line: run_duckdb_snippet.py SQL FOLDER."""

import json
import sys

import duckdb

sql, folder = sys.argv[1:]
with duckdb.connect() as connection:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET VARIABLE folder = '" + folder.replace("'", "''") + "'")
    connection.execute(open(sql).read())
    # Python has no year 0000.
    times = [f"strftime(\"{name}\", '%Y-%m-%dT%H:%M:%S.%gZ') AS \"{name}\"" for name in ("changedAt", "submittedAt", "updatedAt")]
    rows = connection.execute(f"SELECT * REPLACE ({', '.join(times)}) FROM records ORDER BY id")
    names = [column[0] for column in rows.description]
    for row in rows.fetchall():
        print(json.dumps(dict(zip(names, row)), default=str))

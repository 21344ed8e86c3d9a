"""Prints the rows of a table loaded by dlt, one JSON object per line: read_table.py FILE TABLE."""

import json
import sys

import duckdb

path, table = sys.argv[1:]
with duckdb.connect(path, read_only=True) as connection:
    connection.execute("SET TimeZone = 'UTC'")
    columns = connection.execute(f'DESCRIBE replica."{table}"').fetchall()
    # Python has no year 0000.
    times = [f"strftime(\"{name}\", '%Y-%m-%dT%H:%M:%S.%gZ') AS \"{name}\"" for name, kind, *_ in columns if "TIME" in kind]
    rows = connection.execute(f'SELECT * REPLACE ({", ".join(times)}) FROM replica."{table}" ORDER BY id')
    names = [column[0] for column in rows.description]
    for row in rows.fetchall():
        print(json.dumps(dict(zip(names, row)), default=str))

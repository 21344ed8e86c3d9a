"""Prints the rows of a table loaded by dlt, one JSON object per line: read_table.py FILE TABLE."""

import json
import sys

import duckdb

path, table = sys.argv[1:]
with duckdb.connect(path, read_only=True) as connection:
    rows = connection.execute(f'SELECT * FROM replica."{table}" ORDER BY id')
    names = [column[0] for column in rows.description]
    for row in rows.fetchall():
        print(json.dumps(dict(zip(names, row)), default=str))

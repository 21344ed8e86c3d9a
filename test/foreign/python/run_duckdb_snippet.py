"""Runs connectors/snippets/duckdb.sql over a folder and prints the rows by id, one JSON object a line: run_duckdb_snippet.py SQL FOLDER."""

import json
import sys

import duckdb

sql, folder = sys.argv[1:]
with duckdb.connect() as connection:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET VARIABLE folder = '" + folder.replace("'", "''") + "'")
    connection.execute(open(sql).read())
    rows = connection.execute("SELECT * FROM records ORDER BY id")
    names = [column[0] for column in rows.description]
    for row in rows.fetchall():
        print(json.dumps(dict(zip(names, row)), default=str))

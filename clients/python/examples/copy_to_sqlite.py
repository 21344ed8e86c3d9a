import json, os, sqlite3
from tidemark_client import Tidemark

copy = sqlite3.connect(os.environ.get("COPY", "records.db"))
copy.execute("CREATE TABLE IF NOT EXISTS records (id TEXT PRIMARY KEY, walk TEXT, record TEXT)")
copy.execute("CREATE TABLE IF NOT EXISTS progress (cursor TEXT)")
stored = copy.execute("SELECT cursor FROM progress").fetchone()
with Tidemark(os.environ["TIDEMARK_URL"], os.environ["TIDEMARK_KEY"]) as client:
    for batch in client.follow("records", cursor=stored[0] if stored else None):
        with copy:  # One transaction: all of a batch and its cursor are stored, or nothing.
            for row in batch.rows:
                if row["deleted"]:
                    copy.execute("DELETE FROM records WHERE id = ?", (row["id"],))
                else:
                    copy.execute("REPLACE INTO records VALUES (?, ?, ?)", (row["id"], batch.walk, json.dumps(row)))
            if batch.sweep:  # Everything was read anew: rows of other walks are deleted.
                copy.execute("DELETE FROM records WHERE walk <> ?", (batch.walk,))
            copy.execute("DELETE FROM progress")
            copy.execute("INSERT INTO progress VALUES (?)", (batch.cursor,))

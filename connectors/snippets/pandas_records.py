"""A team's submissions as a pandas DataFrame: TIDEMARK_URL, TIDEMARK_KEY; python pandas_records.py [OUTPUT.csv]."""

import os
import sys

import pandas
import requests


def read_records(base_url: str, account_key: str, **filters: str) -> pandas.DataFrame:
    """All submissions that the filters of `/records` select, a row each, with dotted columns.

    `read_records(url, key, level="fail", fields="id,submittedAt,result.score")`; answers: `**{"answer.q1": "b"}`.
    """
    with requests.get(
        f"{base_url}/records",
        params=filters,
        headers={"Authorization": f"Bearer {account_key}", "Accept": "application/x-ndjson"},
        stream=True,
        timeout=(10, 120),
    ) as answer:
        answer.raise_for_status()
        answer.raw.decode_content = True
        # Otherwise it closes itself after the last byte, and pandas reads once more to find the end.
        answer.raw.auto_close = False
        parts = pandas.read_json(answer.raw, lines=True, chunksize=10_000, dtype=False, convert_dates=False)
        frames = [pandas.json_normalize(part.to_dict("records"), max_level=1) for part in parts]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


if __name__ == "__main__":
    records = read_records(os.environ["TIDEMARK_URL"], os.environ["TIDEMARK_KEY"])
    if len(sys.argv) > 1:
        records.to_csv(sys.argv[1], index=False)
    else:
        print(records)

"""Loads changes into DuckDB with the source of connectors/dlt: load_with_dlt.py FILE [FIELDS OF RECORDS]."""

import os
import sys
from pathlib import Path

import dlt
from tidemark_dlt import tidemark

fields = {"records": sys.argv[2]} if len(sys.argv) > 2 else None
pipeline = dlt.pipeline(Path(sys.argv[1]).stem, destination=dlt.destinations.duckdb(sys.argv[1]), dataset_name="replica")
pipeline.run(tidemark(os.environ["TIDEMARK_URL"], account_key=os.environ["TIDEMARK_KEY"], fields=fields))

"""Loads changes into DuckDB with the source of connectors/dlt: load_with_dlt.py FILE."""

import os
import sys

import dlt
from tidemark_dlt import tidemark

pipeline = dlt.pipeline("tidemark", destination=dlt.destinations.duckdb(sys.argv[1]), dataset_name="replica")
pipeline.run(tidemark(os.environ["TIDEMARK_URL"], account_key=os.environ["TIDEMARK_KEY"]))

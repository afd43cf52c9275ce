"""The sidecar of the runs with tamis: `tamis.serve` with automatic indexing.

`run.py` sets `spark.tamis.python` to a script that starts this module instead of `tamis.serve`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tamis.serve.process.lifecycle import main
from tamis.tables.parquet import use_tables
from tests.spark_suites.self_indexing import SelfIndexingTables

#: The environment variable with the directory for the indexes.
SCRATCH = "SPARK_SUITES_SCRATCH"

if __name__ == "__main__":
    use_tables(SelfIndexingTables(Path(os.environ[SCRATCH])))
    main()

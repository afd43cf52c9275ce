"""The sidecar of the runs with tamis: `tamis.serve` over tables that index themselves.

`run.py` names a script in `spark.tamis.python` that starts this module instead of `tamis.serve`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tamis.serve.process import main
from tamis.tables.parquet import use_tables
from tests.spark_suites.self_indexing import SelfIndexingTables

#: The environment variable that names the directory for the indexes.
SCRATCH = "SPARK_SUITES_SCRATCH"

if __name__ == "__main__":
    use_tables(SelfIndexingTables(Path(os.environ[SCRATCH])))
    main()

"""Write the documents that the installed DuckDB plans for the predicates of `cases`.

    python tests/wire/duckdb/generate.py

The result is documents/<major>.<minor>.json with one document per line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[3]
    sys.path[:0] = [str(root), str(root / "python")]

import duckdb

from tests.wire.duckdb.cases import CASES, TABLE
from tests.wire.duckdb.planned import planned_filters, prepare

DOCUMENTS = Path(__file__).parent / "documents"


def main() -> None:
    connection = duckdb.connect()
    connection.execute(TABLE)
    prepare(connection)
    lines = []
    for predicate in CASES:
        document = planned_filters(connection, "t", predicate)
        assert document is not None, predicate
        used = json.dumps(document, separators=(",", ":"), sort_keys=False)
        lines.append(f"{json.dumps(predicate)}: {used}")
    version = ".".join(duckdb.__version__.split(".")[:2])
    (DOCUMENTS / f"{version}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

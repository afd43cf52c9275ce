"""Filter documents that Haybarn, a distribution of DuckDB, plans. Runs in its own environment.

    python haybarn_plans.py < request

The request is a JSON object: the path of a database, the statement that creates a table, its name,
and predicates. Prints one document per predicate, as a JSON array; null if no filter remains.
"""

import json
import sys
from pathlib import Path

import haybarn

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.wire.duckdb.planned import planned_filters, prepare


def main() -> None:
    request = json.load(sys.stdin)
    with haybarn.connect(request["database"]) as connection:
        prepare(connection)
        connection.execute(request["create"])
        found = [planned_filters(connection, request["table"], p) for p in request["predicates"]]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

"""Answers to filters of a published distribution of DuckDB 1.5, which also checks the answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.publish.client import Client, exact, serving
from tests.publish.mixed_table import CONDITIONS, write_mixed_table
from tests.wire.duckdb.distribution import planned, python_of_haybarn, run_sql_test

pytestmark = pytest.mark.programs


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that the server sends for a condition, and whether it declares it as applied."""

    condition: str
    ids: frozenset[int]
    is_exact: bool = False

    def claims(self) -> Iterable[str]:
        """Yield conditions that hold for no row of the table."""
        listed = ", ".join(map(str, [-1, *sorted(self.ids)]))
        yield f"({self.condition}) AND id NOT IN ({listed})"
        if self.is_exact:
            yield f"(({self.condition}) IS NOT TRUE) AND id IN ({listed})"


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the location of a server with the mixed table."""
    root = tmp_path_factory.mktemp("mixed")
    write_mixed_table(root)
    with serving({"mixed": root}) as location:
        yield location


def plan_over(rows: pa.Table, conditions: Sequence[str], folder: Path) -> list[Any]:
    """Return a document for each condition, and write the rows to the database of `sql_test`."""
    pq.write_table(rows, folder / "rows.parquet")
    # Parquet files do not have the type
    columns = "* REPLACE (tsms::TIMESTAMP_MS AS tsms)"
    create = f"CREATE TABLE mixed AS SELECT {columns} FROM '{folder}/rows.parquet'"
    return planned(create, "mixed", conditions, str(folder / "rows.db"))


def random_conditions(count: int) -> list[str]:
    """Return AND, OR and NOT of conditions."""
    random = Random(5)

    def combined(depth: int) -> str:
        kind = random.choice(["", "", "NOT", "AND", "OR"] if depth else [""])
        if kind == "":
            return random.choice(CONDITIONS)
        if kind == "NOT":
            return f"NOT ({combined(depth - 1)})"
        return f"({combined(depth - 1)}) {kind} ({combined(depth - 1)})"

    return [combined(3) for _ in range(count)]


def test_answers_lose_no_row(uri: str, tmp_path: Path) -> None:
    client = Client(uri)
    rows = pa.concat_tables(map(client.read, client.endpoints("mixed")))
    conditions = [*CONDITIONS, *random_conditions(100)]
    answers = []
    for condition, document in zip(conditions, plan_over(rows, conditions, tmp_path), strict=True):
        if document is None:  # it has no columns
            continue
        endpoints = client.endpoints("mixed", document)
        ids = frozenset(row["id"] for row in client.rows(endpoints))
        everything = list(range(len(document["filters"])))
        is_exact = not endpoints or exact(endpoints) == everything
        answers.append(Answer(condition, ids, is_exact))
    assert sum(0 < len(each.ids) < rows.num_rows for each in answers) > 60
    assert sum(each.is_exact for each in answers) >= 15

    passes, output = run_sql_test(tmp_path, sql_test(tmp_path, answers))
    assert passes, output
    for wrong in (Answer("id < 2", frozenset({0})), Answer("id < 2", frozenset({0, 1, 2}), True)):
        passes, output = run_sql_test(tmp_path, sql_test(tmp_path, [wrong]))
        assert not passes
        assert "Wrong result in query" in output


def sql_test(folder: Path, answers: Iterable[Answer]) -> list[str]:
    """Return a test of the claims of answers."""
    lines = ["statement ok", f"ATTACH '{folder}/rows.db' AS rows (READ_ONLY)", ""]
    for claim in (claim for each in answers for claim in each.claims()):
        lines += ["query I", f"SELECT count(*) FROM rows.mixed WHERE {claim}", "----", "0", ""]
    return lines


def test_haybarn_reads_the_table(uri: str) -> None:
    """The extension is not in the package: the test needs a connection to where it is published."""
    client = Client(uri)
    rows = pa.concat_tables(map(client.read, client.endpoints("mixed"))).to_pylist()
    ids = sorted(row["id"] for row in rows)
    queries = {
        "SELECT count(*) FROM shop.main.mixed": [[len(ids)]],
        "SELECT id FROM shop.main.mixed WHERE id < 3 ORDER BY id": [[n] for n in ids if n < 3],
        "SELECT id FROM shop.main.mixed WHERE id IN (1, 5) ORDER BY id": [
            [n] for n in ids if n in (1, 5)
        ],
    }
    script = Path(__file__).with_name("haybarn_client.py")
    done = subprocess.run(
        [python_of_haybarn(), str(script), uri],
        input=json.dumps(list(queries)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 3:
        pytest.skip(f"Haybarn cannot load the extension airport: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == list(queries.values())

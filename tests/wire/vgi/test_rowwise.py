"""Values of rows are those of DuckDB, for the nodes that no statistics describe."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tamis.wire.duckdb.types import LogicalType
from tamis.wire.vgi.container import Container
from tamis.wire.vgi.filter_state import _PredicateReader
from tamis.wire.vgi.rowwise.reader import _expression
from tamis.wire.vgi.rowwise.types import row_type
from tamis.wire.vgi.rowwise.values import FAILED, order_key, python_values
from tests.wire.duckdb.distribution import python_of_haybarn
from tests.wire.vgi import row_cases
from tests.wire.vgi.documents import Node, column
from tests.wire.vgi.row_cases import VALUES, cases, table

#: Texts that DuckDB converts and this package does not: they count as errors.
HUGEINT, WIDEST = LogicalType("HUGEINT"), LogicalType("DECIMAL", 38, 0)
NOT_REPRODUCED = {("s", "i"), ("s", "n"), ("s", "ut"), ("s", "c"), ("s", "d"), ("s", "b")}


def node_of(kind: str, detail: str) -> Node:
    left, right = column(0, "l"), column(1, "r")
    match kind:
        case "cast":
            return {"node": "cast", "expression": left, "type_ref": 0}
        case "negate":
            return {"node": "negate", "expression": left}
        case "call":
            return {"node": "call", "function": detail, "arguments": [left, right]}
    return {"node": kind, "op": detail, "left": left, "right": right}


def test_values_are_those_of_duckdb() -> None:
    listed = list(cases())
    wrong = []
    with duckdb.connect() as connection:
        for case, (data_type, texts) in zip(listed, values_of_haybarn(listed), strict=True):
            left, right, sql, made = case
            rows = connection.sql(
                f"SELECT l, r FROM ({table(left, right)}) ORDER BY l_place, r_place"
            )
            batch = batch_of(rows.to_arrow_table())
            connection.register("texts", pa.table({"t": pa.array(texts, pa.string())}))
            # Haybarn's values come as text, because it is installed without pyarrow.
            values = connection.sql(f"SELECT CAST(t AS {data_type}) AS v FROM texts")
            expected = batch_of(values.to_arrow_table()).column("v")
            for each in differences(batch, expected, made, (left, right)):
                wrong.append(f"{VALUES[left][0]}, {VALUES[right][0]}: {sql}: {each}")
    assert not wrong, "\n".join(wrong[:30])


def values_of_haybarn(listed: list[Any]) -> list[tuple[str, list[str | None]]]:
    """Return what the published distribution of DuckDB 1.5 computes for the cases."""
    queries = [(table(left, right), sql) for left, right, sql, _ in listed]
    request = json.dumps({"package": "haybarn", "cases": queries})
    command = [python_of_haybarn(), str(Path(row_cases.__file__))]
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    computed: list[tuple[str, list[str | None]]] = json.loads(done.stdout)
    return computed


def batch_of(rows: pa.Table) -> pa.RecordBatch:
    (batch,) = rows.combine_chunks().to_batches()
    return batch


def differences(
    batch: pa.RecordBatch, expected: pa.Array, made: tuple[str, str], names: tuple[str, str]
) -> Iterator[str]:
    """Yield the rows for which a node has another value than expected."""
    payloads = {"type_0": pa.nulls(1, expected.type)}
    reader = _PredicateReader(batch.schema, Container({}, payloads, {}), (), "")
    expression = _expression(reader, node_of(*made))
    result = row_type(expected.type)
    # HUGEINT has no type in Arrow.
    own = WIDEST if expression.type == HUGEINT else expression.type
    if own != result:
        yield f"the type is {own}, not {result}"
        return
    wanted = python_values(expected, result)
    sides = (batch.column("l").to_pylist(), batch.column("r").to_pylist())
    for value, other, *inputs in zip(expression.values(batch), wanted, *sides, strict=True):
        if value is FAILED:  # DuckDB raises an error, for which TRY returns NULL
            is_right = other is None or names in NOT_REPRODUCED
        elif value is None or other is None:
            is_right = value is other
        else:
            is_right = order_key(value, result) == order_key(other, result)
        if not is_right:
            yield f"{inputs} gives {value!r}, not {other!r}"

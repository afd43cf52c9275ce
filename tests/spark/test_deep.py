"""Long and deep predicates, as programs generate them, skip files and return the rows of Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TERMS = 2_000

# The shim writes 200 levels: one for each call, so two for each AND in an OR.


def _nested(levels: int, wrap: Callable[[str, int], str], core: str) -> str:
    return reduce(wrap, range(levels), core)


#: Name -> predicate over id (0 to 999, ten files) and amount, and the number of kept files.
PREDICATES: dict[str, tuple[str, int]] = {
    "equalities": (" OR ".join(f"id = {k * 5 + 900}" for k in range(TERMS)), 1),
    "equalities of two": (
        " OR ".join(f"id = {k + 950}" if k % 2 else f"amount = {k + 2000}" for k in range(TERMS)),
        1,
    ),
    "pairs": (
        " OR ".join(f"(id = {k + 900} AND item.sku = {k + 900})" for k in range(TERMS)),
        1,
    ),
    "beginnings": (" OR ".join(f"name LIKE 'n09{k:04d}%'" for k in range(TERMS)), 1),
    "case": (" OR ".join(f"upper(name) = 'N{k + 950:04d}'" for k in range(TERMS)), 1),
    # Spark itself overflows its stack for many more.
    "differences": (" AND ".join(f"id + item.sku <> {k}" for k in range(200)) + " AND id < 100", 1),
    "sum": ("id" + " + item.sku" * 150 + " < 1000", 1),
    "product": (_nested(90, lambda x, k: f"abs({x}) + {k % 2} * id", "id") + " < 50", 1),
    "choices": (
        _nested(150, lambda x, k: f"if(id = {k % 90}, {k % 3}, {x})", "0") + " = 1",
        1,
    ),
    "cases": (
        "CASE "
        + " ".join(f"WHEN id = {k % 90} THEN {k % 3}" for k in range(300))
        + " ELSE 0 END = 1",
        1,
    ),
    "alternating": (
        _nested(95, lambda x, k: f"id = {k % 90} OR (item.sku <> {k} AND ({x}))", "id = 77"),
        1,
    ),
    # Deeper than any component analyzes: all files are kept, and the rows are right.
    "too deep": ("id" + " + item.sku" * 300 + " < 1000", 10),
}


@pytest.fixture(autouse=True)
def not_compiled(spark: SparkSession) -> Iterator[None]:
    """Disable code generation.

    Spark compiles Java code of this length more slowly than it runs the tests.
    """
    confs = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    for key, value in confs.items():
        spark.conf.set(key, value)
    yield
    for key in confs:
        spark.conf.unset(key)


@pytest.mark.parametrize("name", PREDICATES)
def test_deep_predicates_skip_files_and_keep_rows(
    name: str,
    events: DataFrame,
    same: Callable[[str], DataFrame],
    capsys: pytest.CaptureFixture[str],
) -> None:
    predicate, files = PREDICATES[name]
    # under spark.testing Spark raises where it otherwise warns
    events.sparkSession.conf.set("spark.sql.optimizer.maxIterations", "1000")
    frame = same(f"SELECT id FROM events WHERE {predicate}")
    (scan,) = json.loads(frame.sparkSession._jvm.io.tamis.Tamis.scans(frame._jdf))
    with capsys.disabled():
        print(f"\n{name}: {scan['planning_ms']:.1f} ms of planning", end=" ")
    assert scan["fallback"] is None
    assert scan["files_kept"] == files

"""The spark-sql shell with the two confs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import EXTENSION, run, spark

pytestmark = pytest.mark.spark


def test_explain_shows_files_and_the_query_returns_rows(
    tmp_path: Path, environment: dict[str, str], query: str, jar: str
) -> None:
    command = [spark("spark-sql"), "--jars", jar, "--conf", EXTENSION]
    output = run([*command, "-e", f"EXPLAIN {query}; {query} ORDER BY id"], tmp_path, environment)
    assert "Files: 1 of 8" in output
    assert output.splitlines()[-len(ROWS) :] == [str(row) for row in ROWS]


def test_declared_hive_function(
    tmp_path: Path, environment: dict[str, str], orders: str, jar: str
) -> None:
    """From SQL alone: a function of Hive, and a module that declares its properties."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "my_contracts.py").write_text(
        "import math, tamis\n"
        "ALL = [tamis.Contract('root', monotone=math.cbrt, types=['INT'], null_to_null=True)]\n"
    )
    environment["PYTHONPATH"] = str(modules)
    hive = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFCbrt"
    low, high = math.cbrt(ROWS[0] - 0.5), math.cbrt(ROWS[-1] + 0.5)
    query = f"SELECT id FROM parquet.`{orders}` WHERE root(id) BETWEEN {low}D AND {high}D"
    script = [
        f"CREATE TEMPORARY FUNCTION root AS '{hive}'",
        f"EXPLAIN {query}",
        "SET spark.tamis.declarations = my_contracts:ALL",
        f"EXPLAIN {query}",
        f"{query} ORDER BY id",
    ]
    command = [spark("spark-sql"), "--jars", jar, "--conf", EXTENSION]
    output = run([*command, "-e", "; ".join(script)], tmp_path, environment)
    before, _, after = output.partition("my_contracts")
    assert "Files: 8 of 8" in before
    assert "Files: 1 of 8" in after
    assert "HiveGenericUDF" in after
    assert output.splitlines()[-len(ROWS) :] == [str(row) for row in ROWS]

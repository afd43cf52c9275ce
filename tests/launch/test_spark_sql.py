"""The spark-sql shell with the two confs."""

from __future__ import annotations

import math

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import EXTENSION, run, shell, spark

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory, orders: str, jar: str) -> list[str]:
    """Return the output of each step in one shell.

    Steps: a query without functions; one with a Hive function; the same after its declaration.
    """
    folder = tmp_path_factory.mktemp("shell")
    modules = folder / "modules"
    modules.mkdir()
    (modules / "my_contracts.py").write_text(
        "import math, tamis\n"
        "ALL = [tamis.Contract('root', monotone=math.cbrt, types=['INT'], null_to_null=True)]\n"
    )
    hive = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFCbrt"
    low, high = math.cbrt(ROWS[0] - 0.5), math.cbrt(ROWS[-1] + 0.5)
    plain = f"SELECT id FROM parquet.`{orders}` WHERE id BETWEEN {ROWS[0]} AND {ROWS[-1]}"
    called = f"SELECT id FROM parquet.`{orders}` WHERE root(id) BETWEEN {low}D AND {high}D"
    end = "SELECT 'end of step'"
    script = [
        *(f"EXPLAIN {plain}", f"{plain} ORDER BY id", end),
        *(f"CREATE TEMPORARY FUNCTION root AS '{hive}'", f"EXPLAIN {called}", end),
        "SET spark.tamis.declarations = my_contracts:ALL",
        *(f"EXPLAIN {called}", f"{called} ORDER BY id"),
    ]
    command = [spark("spark-sql"), "--jars", jar, "--conf", EXTENSION, "-e", "; ".join(script)]
    return run(command, folder, shell(folder, PYTHONPATH=str(modules))).split("end of step\n")


def last_rows(output: str) -> list[str]:
    return output.splitlines()[-len(ROWS) :]


def test_explain_shows_files_and_the_query_returns_rows(output: list[str]) -> None:
    assert "Files: 1 of 8" in output[0]
    assert last_rows(output[0]) == [str(row) for row in ROWS]


def test_declared_hive_function(output: list[str]) -> None:
    """From SQL alone: a function of Hive, and a module that declares its properties."""
    _, before, after = output
    assert "Files: 8 of 8" in before
    assert "Files: 1 of 8" in after
    assert "HiveGenericUDF" in after
    assert last_rows(after) == [str(row) for row in ROWS]

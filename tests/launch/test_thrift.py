"""The Thrift server, queried over JDBC."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import (
    EXTENSION,
    free_port,
    java_under,
    run,
    running,
    sidecars_under,
    spark,
    wait_until_gone,
)

pytestmark = pytest.mark.spark

SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


def test_jdbc_client_sees_rows_and_plans(
    tmp_path: Path, environment: dict[str, str], query: str, jar: str
) -> None:
    port = free_port()
    command = [spark("spark-submit"), "--class", SERVER, "--jars", jar, "--conf", EXTENSION]
    command += ["spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}"]
    command += ["--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    with running(command, tmp_path, environment, "server") as server:
        server.wait_for_port(port)
        beeline = [spark("beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}/default", "-n", "me"]
        beeline += ["--silent=true", "--outputformat=csv2", "--showHeader=false", "-e"]
        assert "Files: 1 of 8" in run([*beeline, f"EXPLAIN {query}"], tmp_path, environment)
        rows = run([*beeline, f"{query} ORDER BY id"], tmp_path, environment)
        assert [word for word in rows.split() if word.isdecimal()] == [str(row) for row in ROWS]
        # killing a server ends its sidecar
        driver = java_under(server.pid)
        (sidecar,) = sidecars_under(driver)
        os.kill(driver, signal.SIGKILL)
        wait_until_gone(sidecar)

"""Spark Connect: only the server needs tamis, and clients see its plans."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import (
    EXTENSION,
    free_port,
    java_under,
    report,
    run,
    running,
    sidecars_under,
    spark,
    wait_until_gone,
)

pytestmark = pytest.mark.spark

pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
pytest.importorskip("zstandard", reason="Spark Connect needs zstandard")

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def test_server_with_tamis_and_client_without(
    tmp_path: Path, environment: dict[str, str], app: Callable[[str], str], query: str, jar: str
) -> None:
    port = free_port()
    command = [spark("spark-submit"), "--class", SERVER, "--jars", jar, "--conf", EXTENSION]
    command += ["--conf", f"spark.connect.grpc.binding.port={port}", "spark-internal"]
    with running(command, tmp_path, environment, "server") as server:
        server.wait_for_port(port)
        client = {**environment, "SPARK_REMOTE": f"sc://127.0.0.1:{port}"}
        result = report(run([sys.executable, app("query"), query], tmp_path, client))
        assert result["rows"] == ROWS
        assert "Files: 1 of 8" in result["plan"]
        driver = java_under(server.pid)
        (sidecar,) = sidecars_under(driver)
        os.kill(driver, signal.SIGTERM)
        wait_until_gone(sidecar)
        server.process.wait(60)
        assert not list(tmp_path.glob("tamis-*"))


def test_local_server_of_pyspark(
    tmp_path: Path,
    environment: dict[str, str],
    app: Callable[[str], str],
    query: str,
    repository: Path,
) -> None:
    environment["PYTHONPATH"] = str(repository / "python")
    environment["SPARK_TESTING"] = "1"  # a free port if 15002 is taken
    command = [sys.executable, app("configured"), query, "remote"]
    result = report(run(command, tmp_path, environment))
    assert result["kind"].startswith("pyspark.sql.connect")
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]

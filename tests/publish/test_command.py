"""`python -m tamis serve-airport` as a process, and Spark as its client."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.publish.airport.serve_command import access_of, tables_of
from tamis.publish.errors import PublishError
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import ReadRequest, RemoteError
from tests.launch.processes import LIMIT, running, shell
from tests.publish.client import Client, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.programs

SERVE = [sys.executable, "-m", "tamis", "serve-airport"]


def environment(directory: Path) -> dict[str, str]:
    """Return that of a shell in which this tree is installed."""
    return shell(directory, PYTHONPATH=os.environ["PYTHONPATH"])


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("orders")
    for place in range(4):
        folder = root / f"region=r{place}"
        folder.mkdir()
        ids = range(place * 100, place * 100 + 100)
        table = pa.table({"id": ids, "name": [f"n{n % 10}" for n in ids]})
        pq.write_table(table, folder / "a.parquet", row_group_size=25)
    return root


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the paths of a certificate for localhost and of its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, was not found")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "certificate.pem", folder / "key.pem"
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    output = ("-out", str(paths[0]), "-keyout", str(paths[1]))
    command = (openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", *name, *output)
    subprocess.run(command, check=True, capture_output=True)
    return paths


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_prints_its_location_and_ends_cleanly(
    orders: Path, tmp_path: Path, number: signal.Signals
) -> None:
    command = [*SERVE, "--port", "0", "--schema", "shop", f"orders={orders}"]
    with running(command, tmp_path, environment(tmp_path)) as process:
        process.wait_for("grpc://127.0.0.1:")
        uri = process.output().strip()
        info = Client(uri).flight.get_flight_info(
            flight.FlightDescriptor.for_path("shop", "orders")
        )
        assert info.total_records == 400
        process.process.send_signal(number)
        assert process.process.wait(LIMIT) == 0
        assert process.output().strip() == uri


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument 'NAME=PATH'"),
        (
            ("o=/no/such/table",),
            "tamis: o=/no/such/table: o does not exist: pass the path of an existing table",
        ),
        (
            ("--host", "no.such.host.invalid", "o={orders}"),
            "cannot listen on no.such.host.invalid:8815",
        ),
    ],
)
def test_wrong_arguments_are_errors(
    orders: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    command = [*SERVE, *(each.format(orders=orders) for each in arguments)]
    done = subprocess.run(
        command,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode in (1, 2)
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_tables_and_access_are_checked(orders: Path, tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="two tables are named A"):
        tables_of([f"a={orders}", f"A={orders}"])
    with pytest.raises(PublishError, match="orders does not have the form NAME=PATH"):
        tables_of(["orders"])
    with pytest.raises(PublishError, match="nowhere cannot be read"):
        access_of(tmp_path / "nowhere")
    with pytest.raises(PublishError, match="both --certificate and --key"):
        access_of(certificate=tmp_path)
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(PublishError, match="is empty: write the bearer token"):
        access_of(tmp_path / "token")
    (tmp_path / "token").write_text("secret\n")
    assert access_of(tmp_path / "token").token == "secret"


def test_server_uses_tls(orders: Path, certificate: tuple[Path, Path]) -> None:
    with serving({"orders": orders}, access_of(None, *certificate)) as uri:
        client = Client(uri, roots=certificate[0].read_bytes())
        assert len(client.rows(client.endpoints("orders"))) == 400
        with pytest.raises(flight.FlightUnavailableError):
            Client(uri).schema("orders")


def test_airport_source_trusts_the_certificates_of_tls_roots(
    orders: Path, certificate: tuple[Path, Path]
) -> None:
    with serving({"orders": orders}, access_of(None, *certificate)) as uri:
        options = {"uri": uri, "schema": "main", "table": "orders"}
        source = AirportSource({**options, "tlsRoots": str(certificate[0])})
        tasks = source.tasks(ReadRequest(("id",)))
        assert sum(batch.num_rows for task in tasks for batch in task.batches()) == 400
        with pytest.raises(RemoteError, match=r"list_schemas of the table main\.orders failed"):
            AirportSource(options).schema()


# --- with Spark ---------------------------------------------------------------------------------


def test_spark_reads_a_published_table(spark: SparkSession, orders: Path) -> None:
    with serving({"orders": orders}) as uri:
        table = tamis.read_airport(spark, uri, "main", "orders")
        assert dict(table.dtypes) == {"id": "bigint", "name": "string", "region": "string"}
        assert table.count() == 400
        rows = table.where("region IN ('r1', 'r2') AND id < 120 AND name > 'n3'").collect()
        assert sorted(row.id for row in rows) == [n for n in range(100, 120) if n % 10 > 3]


def test_spark_reads_over_tls(
    spark: SparkSession, orders: Path, certificate: tuple[Path, Path]
) -> None:
    with serving({"orders": orders}, access_of(None, *certificate)) as uri:
        table = tamis.read_airport(spark, uri, "main", "orders", tls_roots=str(certificate[0]))
        assert table.where("id >= 390").count() == 10

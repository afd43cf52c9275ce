"""Delta and Iceberg tables through the servers: one version per transaction, and time travel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog

from tamis.publish.vgi.refusals import Refused
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.publish.vgi.serve_command import catalog_of
from tests.publish.client import Client, descriptor, serving

pytestmark = pytest.mark.programs


class Lake:
    """A table to which numbers are appended, or that has only some numbers."""

    path: str
    #: The unit and value of the first version.
    first: str

    def append(self, *numbers: int) -> None:
        raise NotImplementedError

    def overwrite(self, *numbers: int) -> None:
        raise NotImplementedError


class DeltaLake(Lake):
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.first = str(folder / "t"), "0"

    def append(self, *numbers: int) -> None:
        write_deltalake(self.path, pa.table({"n": list(numbers)}), mode="append")

    def overwrite(self, *numbers: int) -> None:
        write_deltalake(self.path, pa.table({"n": list(numbers)}), mode="overwrite")


class IcebergLake(Lake):
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        uri = f"sqlite:///{folder}/catalog.db"
        catalog = load_catalog("lake", type="sql", uri=uri, warehouse=f"file://{folder}")
        catalog.create_namespace("db")
        self.table = catalog.create_table("db.t", pa.schema({"n": pa.int64()}))
        self.path = "iceberg:lake.db.t"
        monkeypatch.setattr("pyiceberg.catalog.load_catalog", lambda name: catalog)

    @property
    def first(self) -> str:  # type: ignore[override]
        return str(self.table.refresh().history()[0].snapshot_id)

    def append(self, *numbers: int) -> None:
        self.table.append(pa.table({"n": list(numbers)}))

    def overwrite(self, *numbers: int) -> None:
        self.table.overwrite(pa.table({"n": list(numbers)}))


@pytest.fixture(params=[DeltaLake, IcebergLake])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr("tamis.publish.tables._RELIST", 0.0)
    monkeypatch.setattr("tamis.publish.tables._SHARE", 0.0)
    made: Lake = request.param(tmp_path, monkeypatch)
    made.append(1, 2)
    return made


@contextmanager
def client_of(lake: Lake, **options: Any) -> Iterator[Callable[..., Client]]:
    with serving({"t": lake.path}, **options) as uri:
        yield lambda *more: Client(uri, more=more)


def numbers(client: Client, endpoints: Any = None, **moment: str) -> list[int]:
    read = client.endpoints("t", **moment) if endpoints is None else endpoints
    return sorted(row["n"] for row in client.rows(read))


# --- Airport ------------------------------------------------------------------------------------


def test_transaction_reads_one_version(lake: Lake) -> None:
    with client_of(lake) as connect:
        inside, outside = connect(("airport-transaction-id", "x")), connect()
        planned = inside.endpoints("t")
        lake.append(3)
        lake.overwrite(4, 5)
        assert numbers(outside) == [4, 5]
        assert numbers(inside) == numbers(inside, planned) == [1, 2]
        assert inside.statistics("t", "n")["max"] == 2
        assert outside.statistics("t", "n")["max"] == 5


def test_ticket_reads_its_version_after_the_transaction(lake: Lake) -> None:
    with client_of(lake) as connect:
        planned = connect().endpoints("t")
        for n in range(12):  # more than the versions that are kept
            lake.overwrite(n)
            assert numbers(connect()) == [n]
        assert numbers(connect(), planned) == [1, 2]


def test_earlier_versions_are_read(lake: Lake) -> None:
    first = lake.first
    time.sleep(0.01)
    between = datetime.now(UTC)
    time.sleep(0.01)
    lake.append(3)
    with client_of(lake) as connect:
        client = connect(("airport-transaction-id", "x"))
        assert numbers(client) == [1, 2, 3]
        assert numbers(client, at_unit="VERSION", at_value=first) == [1, 2]
        for text in (between.isoformat(), between.replace(tzinfo=None).isoformat(" ")):
            assert numbers(client, at_unit="TIMESTAMP", at_value=text) == [1, 2]
        # the statistics are those of the current version, so clients must not ask for them
        request = {
            "descriptor": descriptor("t").serialize(),
            "at_unit": "version",
            "at_value": first,
        }
        info = flight.FlightInfo.deserialize(client.act("flight_info", request))
        assert b"can_produce_statistics" not in info.schema.metadata
        assert info.total_records == 2
        for unit, value in (
            ("VERSION", "999999999"),
            ("VERSION", "-1"),
            ("TIMESTAMP", "yesterday"),
            ("TIMESTAMP", "1971-01-01"),
        ):
            with pytest.raises(
                flight.FlightServerError, match=r"t (has no|is a Delta)|t: (its log|')"
            ):
                client.endpoints("t", at_unit=unit, at_value=value)


def test_files_that_clients_read_themselves(lake: Lake) -> None:
    with client_of(lake, with_locations=True) as connect:
        (endpoint,) = connect().endpoints("t")
        assert [each.uri.startswith(b"data:") for each in endpoint.locations] == [True]


def test_files_with_deleted_or_further_rows_are_not_offered(
    tmp_path: Path,
) -> None:
    rows = pa.table({"n": [1, 2], "p": ["a", "b"]})
    write_deltalake(tmp_path / "t", rows, partition_by="p")
    with serving({"t": tmp_path / "t"}, with_locations=True) as uri:
        client = Client(uri)
        assert len(client.rows(client.endpoints("t"))) == 2


# --- VGI ----------------------------------------------------------------------------------------


def test_splits_read_their_version_in_another_process(lake: Lake) -> None:
    bind = {"table": "t"}
    planned = catalog_of("tamis", {"t": lake.path}).functions["scan"].bind(bind)
    tokens = [each.token for each in planned.splits([])]
    lake.append(3)
    lake.overwrite(4)
    other = catalog_of("tamis", {"t": lake.path}).functions["scan"].bind(bind)
    assert scanned(Scan(other, None, tokens=tokens)) == [1, 2]
    assert scanned(Scan(other, None)) == [4]
    assert planned.version() != other.version()
    mixed = [*tokens, *(each.token for each in other.splits([]))]
    with pytest.raises(Refused, match="SPLIT_TOKEN_INVALID"):
        Scan(other, None, tokens=mixed)


def scanned(scan: Scan) -> list[int]:
    found = []
    while (batch := scan.next({})) is not None:
        found += batch.column("n").to_pylist()
    return sorted(found)


def test_splits_of_a_version_that_is_gone_have_expired(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write_deltalake(root, pa.table({"n": [1]}))
    scan = catalog_of("tamis", {"t": str(root)}).functions["scan"]
    tokens = [each.token for each in scan.bind({"table": "t"}).splits([])]
    write_deltalake(root, pa.table({"n": [2]}), mode="overwrite")
    DeltaTable(root).vacuum(0, dry_run=False, enforce_retention_duration=False)
    fresh = catalog_of("tamis", {"t": str(root)}).functions["scan"].bind({"table": "t"})
    with pytest.raises(Refused, match=r"SPLIT_SNAPSHOT_EXPIRED.*does not exist"):
        Scan(fresh, None, tokens=tokens)


def test_files_are_described(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write_deltalake(root, pa.table({"n": [1, 2], "p": ["a", "b"]}), partition_by="p")
    files = catalog_of("tamis", {"t": str(root)}).functions["files"]
    bound = files.bind({"table": "t", "filter": "p = 'a'"})
    (rows,) = bound.rows(["rows", "modified", "verdict", "min.n", "max.p"], [], None)
    assert sorted(rows.batch.to_pylist(), key=str) == [
        {"rows": 1, "modified": None, "verdict": "all", "min.n": 1, "max.p": "a"},
        {"rows": 1, "modified": None, "verdict": "none", "min.n": 2, "max.p": "b"},
    ]

"""The Airport server: its answers, and requests that it must refuse."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Compare, Comparison, IsNull, Literal, Not
from tamis.expr.types import INTEGER, LONG
from tamis.publish.airport.access import Access
from tamis.publish.airport.endpoints import grouped
from tamis.publish.airport.tickets import Ticket, Tickets
from tamis.publish.part_reader import Part
from tamis.remote.airport.source import AirportSource
from tamis.remote.contract import Applied, ReadRequest, RemoteError
from tamis.sources.file_source import DataFile
from tests.publish.client import (
    ROW_IDENTIFIER,
    Client,
    descriptor,
    exact,
    serving,
)
from tests.remote.airport_server import filtered

ORDERS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "name": [None if n % 7 == 0 else f"n{n}" for n in range(40)],
        "price": [float("nan") if n == 3 else n / 2 for n in range(40)],
    }
)


@pytest.fixture(autouse=True)
def _listed_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.publish.tables._RELIST", 0.0)
    monkeypatch.setattr("tamis.publish.tables._SHARE", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a table of two files with two row groups each."""
    root = tmp_path / "orders"
    for place in (0, 1):
        folder = root / f"p={place}"
        folder.mkdir(parents=True)
        part = ORDERS.slice(place * 20, 20)
        pq.write_table(part, folder / "part.parquet", row_group_size=10)
    return root


@pytest.fixture
def uri(root: Path) -> Iterator[str]:
    with serving({"orders": root}) as location:
        yield location


def above(value: int) -> Compare:
    return Compare(Comparison.GREATER, Column(("id",), LONG), Literal(value, LONG))


def document(uri: str, value: int) -> str:
    """Return the document that tamis sends for `id > value`."""
    from tamis.remote.airport.sendable_filters import filter_document, sendable

    schema = Client(uri).schema("orders")
    return filter_document(sendable([above(value)], schema), schema)


# --- the client of tamis ------------------------------------------------------------------------


def source(uri: str, **more: str) -> AirportSource:
    return AirportSource({"uri": uri, "schema": "main", "table": "orders", **more})


def test_tamis_reads_its_columns_and_the_surviving_row_groups(uri: str) -> None:
    read = source(uri)
    assert read.schema().names == ["id", "name", "price", "p"]
    tasks = read.tasks(ReadRequest(("p", "id"), (above(29),)))
    batches = [batch for task in tasks for batch in task.batches()]
    assert {tuple(batch.schema.names) for batch in batches} == {("id", "p")}
    assert [row for b in batches for row in b.to_pylist()] == [
        {"id": n, "p": 1} for n in range(30, 40)
    ]
    assert read.tasks(ReadRequest(("id",), (above(100),))) == []
    counted = source(uri).tasks(ReadRequest(()))
    assert sum(batch.num_rows for task in counted for batch in task.batches()) == 40


def test_tamis_learns_which_filters_are_exact(uri: str, root: Path) -> None:
    read = source(uri)
    filters = (above(19), above(20), Not(IsNull(Column(("p",), INTEGER))))
    assert read.applied(filters[:1]) == [Applied.EXACTLY]
    assert read.applied(filters) == [Applied.EXACTLY, Applied.PARTLY, Applied.EXACTLY]
    assert read.applied([above(100), above(20)]) == [Applied.EXACTLY, Applied.EXACTLY]
    tasks = read.tasks(ReadRequest(("id",), required=filters[:1]))
    assert sum(batch.num_rows for task in tasks for batch in task.batches()) == 20
    pq.write_table(ORDERS, root / "p=0" / "more.parquet")
    with pytest.raises(RemoteError, match="has withdrawn its declaration"):
        read.tasks(ReadRequest(("id",), required=filters[:1]))


def test_tamis_reads_statistics(uri: str) -> None:
    statistics = source(uri).statistics(["id", "name", "price", "p"])
    assert statistics.rows == 40
    columns = statistics.columns
    assert (columns["id"].minimum, columns["id"].maximum) == (pa.scalar(0), pa.scalar(39))
    assert (columns["id"].has_nulls, columns["name"].has_nulls) == (False, None)
    assert (columns["name"].minimum, columns["name"].maximum) == (pa.scalar("n1"), pa.scalar("n9"))
    assert columns["price"].maximum is None  # there may be NaN
    assert columns["p"].maximum == pa.scalar(1, pa.int32())


def test_tamis_names_tables_that_do_not_exist(uri: str) -> None:
    with pytest.raises(RemoteError, match=r"there is no such table\. The tables are orders"):
        source(uri, table="nowhere").schema()


# --- actions ------------------------------------------------------------------------------------


def test_catalog_lists_schemas_and_tables(uri: str) -> None:
    client = Client(uri)
    request = {"catalog_name": "warehouse"}
    length, content = msgpack.unpackb(client.act("list_schemas", request), raw=True)
    root = msgpack.unpackb(
        pa.decompress(content, decompressed_size=length, codec="zstd", asbytes=True), raw=True
    )
    (schema,) = root[b"schemas"]
    assert (schema[b"name"], schema[b"description"]) == (b"main", b"")
    length, content = msgpack.unpackb(schema[b"contents"][b"serialized"], raw=True)
    tables = msgpack.unpackb(
        pa.decompress(content, decompressed_size=length, codec="zstd", asbytes=True), raw=True
    )
    (info,) = map(flight.FlightInfo.deserialize, tables)
    about = msgpack.unpackb(info.app_metadata)
    assert (about["type"], about["catalog"], about["schema"], about["name"]) == (
        "table", "warehouse", "main", "orders",
    )  # fmt: skip
    assert (info.total_records, info.descriptor) == (40, descriptor("orders"))
    assert info.schema.metadata == {
        b"can_produce_statistics": b"1",
        b"tamis.applied_exactly": b"1",
    }
    version = msgpack.unpackb(client.act("catalog_version", request))
    assert version == {
        "catalog_version": root[b"version_info"][b"catalog_version"],
        "is_fixed": False,
    }


def test_version_of_the_catalog_changes_with_the_columns(uri: str, root: Path) -> None:
    def version() -> int:
        answer = msgpack.unpackb(Client(uri).act("catalog_version", {"catalog_name": ""}))
        return int(answer["catalog_version"])

    first = version()
    pq.write_table(ORDERS, root / "p=0" / "more.parquet")
    assert version() == first
    pq.write_table(pa.table({"comment": ["x"]}), root / "p=0" / "other.parquet")
    assert version() > first


@pytest.mark.parametrize(
    ("agent", "columns", "names", "values"),
    [
        ("airport/1", [0], ["id", "name", "price", "p"], {"id"}),
        ("airport/1", [3, 1], ["id", "name", "price", "p"], {"name", "p"}),
        ("airport/1", [ROW_IDENTIFIER], ["id", "name", "price", "p"], set()),
        ("airport/1", [ROW_IDENTIFIER - 1, 2], ["id", "name", "price", "p"], {"price"}),
        ("tamis/1", [2, 0], ["id", "price"], {"id", "price"}),
        ("tamis/1", [], ["id"], {"id"}),
    ],
)
def test_columns_that_are_not_requested_are_null_or_left_out(
    uri: str, agent: str, columns: list[int], names: list[str], values: set[str]
) -> None:
    client = Client(uri, agent)
    table = pa.concat_tables(map(client.read, client.endpoints("orders", columns=columns)))
    assert table.schema.names == names
    assert table.num_rows == 40
    assert {n for n in names if table.column(n).null_count < 40} == values


def test_flight_info_covers_all_rows(uri: str) -> None:
    info = Client(uri).flight.get_flight_info(descriptor("orders"))
    rows = [row for each in info.endpoints for row in Client(uri).read(each).to_pylist()]
    assert sorted(row["id"] for row in rows) == list(range(40))
    assert [each.total_records for each in Client(uri).flight.list_flights()] == [40]


def test_column_statistics_are_bounds(uri: str) -> None:
    client = Client(uri)
    assert client.statistics("orders", "id") == {
        "has_not_null": True, "has_null": False, "distinct_count": 0, "min": 0, "max": 39,
    }  # fmt: skip
    name = client.statistics("orders", "name")
    assert (name["min"], name["has_null"]) == ("n1", True)
    # DuckDB concludes from the bounds how long texts are and whether they are ASCII
    assert name["max"] > "n9"
    assert len(name["max"].encode()) > 15
    assert not name["max"].isascii()
    assert math.isnan(client.statistics("orders", "price")["max"])


def test_statistics_that_are_not_known(tmp_path: Path) -> None:
    columns = {"t": pa.array(["a"]), "n": [1], "l": [[1]], "b": [b"x"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", write_statistics=False)
    with serving({"t": tmp_path}) as uri:
        for agent, greatest in ((Client(uri).agent, "\U0010ffff" * 4), ("tamis/1", None)):
            client = Client(uri, agent)
            assert client.statistics("t", "n")["max"] is None
            assert client.statistics("t", "t")["max"] == greatest
            assert client.statistics("t", "l")["min"] is None
            assert client.statistics("t", "n")["has_null"] is True


def test_statistics_and_endpoints_of_a_transaction_see_the_same_files(uri: str, root: Path) -> None:
    begun = msgpack.unpackb(Client(uri).act("create_transaction", {"catalog_name": ""}))
    header = ("airport-transaction-id", begun["identifier"])
    within, outside = Client(uri, more=[header]), Client(uri)
    assert within.statistics("orders", "id")["max"] == 39
    pq.write_table(
        ORDERS.set_column(0, "id", [pa.array(range(40, 80))]), root / "p=1" / "b.parquet"
    )
    assert len(within.rows(within.endpoints("orders"))) == 40
    assert len(outside.rows(outside.endpoints("orders"))) == 80
    assert outside.statistics("orders", "id")["max"] == 79


def test_exact_filters_are_declared(uri: str) -> None:
    client = Client(uri)
    assert exact(client.endpoints("orders", document(uri, 19))) == [0]
    assert exact(client.endpoints("orders", document(uri, 20))) == []
    assert client.endpoints("orders", document(uri, 100)) == []


# --- refusals -----------------------------------------------------------------------------------

NOT_OURS = "the ticket is from another server"


def test_tampered_tickets_are_refused(uri: str, root: Path) -> None:
    (root.parent / "secret.parquet").write_bytes((root / "p=0" / "part.parquet").read_bytes())
    client = Client(uri)
    good = client.endpoints("orders")[0].ticket.ticket
    content = msgpack.unpackb(good[:-32])
    content[5][0][0] = "../secret.parquet"
    other_key = Tickets().issue(Ticket("orders", "", content[2], (0,), True, ()))
    for bad in (
        b"",
        b"x",
        good[:-1],
        good + b"x",
        good[1:],
        msgpack.packb(content) + good[-32:],
        other_key,
    ):
        with pytest.raises(flight.FlightServerError, match=NOT_OURS):
            client.flight.do_get(flight.Ticket(bad)).read_all()
    for place in range(0, len(good), 7):
        flipped = bytes([*good[:place], good[place] ^ 1, *good[place + 1 :]])
        with pytest.raises(flight.FlightServerError, match=NOT_OURS):
            client.flight.do_get(flight.Ticket(flipped)).read_all()


@pytest.mark.parametrize(
    ("action", "request_", "says"),
    [
        ("drop_table", {}, "has no action drop_table"),
        ("endpoints", b"\xc1", "endpoints: the request is not msgpack"),
        ("endpoints", b"", "endpoints: the request is not msgpack"),
        ("endpoints", [1], "endpoints is not a map"),
        ("endpoints", {}, "endpoints: parameters is not a map"),
        ("endpoints", {"parameters": {}, "descriptor": "x"}, "the descriptor"),
        ("endpoints", {"parameters": {"json_filters": 5}}, "the descriptor is malformed"),
        ("endpoints", {"parameters": {"at_unit": "VERSION"}}, "at_unit is not VERSION"),
        ("endpoints", {"parameters": {"table_function_parameters": "x"}}, "no table functions"),
        ("column_statistics", {"flight_descriptor": 5}, "flight_descriptor is not a string"),
        ("flight_info", {"at_unit": "YEAR", "at_value": "1"}, "at_unit is not VERSION"),
        ("list_schemas", {"catalog_name": b"\xff"}, "catalog_name is not UTF-8"),
    ],
)  # fmt: skip
def test_malformed_requests_are_refused(uri: str, action: str, request_: Any, says: str) -> None:
    with pytest.raises(flight.FlightServerError, match=says) as refused:
        Client(uri).act(action, request_)
    assert "Traceback" not in str(refused.value)


@pytest.mark.parametrize(
    "path", [("main", "../orders"), ("main", "nowhere"), ("other", "orders"), ("main",), ()]
)
def test_other_tables_do_not_exist(uri: str, path: tuple[str, ...]) -> None:
    with pytest.raises(flight.FlightServerError, match=r"there is no table|does not name"):
        Client(uri).flight.get_flight_info(flight.FlightDescriptor.for_path(*path))
    with pytest.raises(flight.FlightServerError, match="does not name"):
        Client(uri).flight.get_flight_info(flight.FlightDescriptor.for_command("SELECT 1"))


def test_malformed_parameters_are_refused_and_unknown_ones_ignored(uri: str) -> None:
    client = Client(uri)
    assert len(client.rows(client.endpoints("orders", require_exact_filters=True))) == 40
    for columns in ("x", [1.5], [None]):
        with pytest.raises(flight.FlightServerError, match="column_ids is not an array of numbers"):
            client.endpoints("orders", column_ids=columns)
    with pytest.raises(flight.FlightServerError, match="orders has no column nowhere"):
        client.statistics("orders", "nowhere")


@pytest.mark.parametrize("change", ["delete", "overwrite"])
def test_file_that_changes_between_endpoints_and_reading_is_an_error(
    uri: str, root: Path, change: str
) -> None:
    client = Client(uri)
    endpoints = client.endpoints("orders")
    path = root / "p=1" / "part.parquet"
    path.unlink() if change == "delete" else pq.write_table(ORDERS, path)
    with pytest.raises(
        flight.FlightServerError, match=r"orders: p=1/part\.parquet (was deleted|has changed)"
    ):
        client.rows(endpoints)
    assert len(client.rows(client.endpoints("orders"))) == (20 if change == "delete" else 60)


def test_file_that_cannot_be_read_is_an_error(uri: str, root: Path) -> None:
    (root / "p=1" / "x.parquet").write_bytes(b"PAR1 but not really PAR1")
    with pytest.raises(flight.FlightServerError, match=r"orders: p=1/x\.parquet cannot be read"):
        Client(uri).endpoints("orders", columns=[0])


def test_changed_columns_are_an_error(uri: str, root: Path) -> None:
    client = Client(uri)
    endpoints = client.endpoints("orders")
    pq.write_table(pa.table({"comment": ["x"]}), root / "p=0" / "other.parquet")
    assert len(client.rows(endpoints)) == 40  # the change has not been noticed
    assert "comment" in client.schema("orders").names
    with pytest.raises(flight.FlightServerError, match="the columns of orders have changed"):
        client.rows(endpoints)


def test_calls_without_the_token_are_refused(root: Path) -> None:
    access = Access("secret-1")
    assert "secret" not in repr(access)
    with serving({"orders": root}, access) as uri:
        assert len(source(uri, token="secret-1").tasks(ReadRequest(("id",)))) > 0
        good = Client(uri, token="secret-1")
        (ticket, *_) = [each.ticket for each in good.endpoints("orders")]
        for client in (Client(uri), Client(uri, token="secret-2"), Client(uri, token="")):
            for call in (
                lambda c: c.act("list_schemas", {"catalog_name": ""}),
                lambda c: c.flight.do_get(ticket, c.options()).read_all(),
                lambda c: c.schema("orders"),
            ):
                with pytest.raises(flight.FlightUnauthenticatedError) as refused:
                    call(client)
                assert "secret" not in str(refused.value)
                assert "Traceback" not in str(refused.value)


# --- groups, locations --------------------------------------------------------------------------


def pieces(sizes: list[int]) -> list[Part]:
    file = DataFile("a", 0, 0)
    return [Part(file, (place,), 1, size) for place, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([5], [(0,)]),
        ([5, 5, 5], [(0, 1, 2)]),
        ([1 << 20] * 3, [(0,), (1,), (2,)]),
        ([1 << 30, 1, 1 << 30], [(0,), (1,), (2,)]),
        ([1 << 19] * 32, [(n, n + 1) for n in range(0, 32, 2)]),
    ],
)
def test_row_groups_are_grouped_by_size(sizes: list[int], groups: list[tuple[int, ...]]) -> None:
    assert [part.row_groups for (part,) in grouped(pieces(sizes))] == groups


def test_groups_hold_every_piece_once() -> None:
    files = [DataFile(name, 0, 0) for name in "abc"]
    parts = [Part(file, None, None, 1 << 19) for file in files] + pieces([3 << 20, 1 << 18, 9])
    kept = [part for group in grouped(parts) for part in group]
    assert [part.file.path for part in kept][:3] == ["a", "b", "c"]
    assert sum(part.size for part in kept) == sum(part.size for part in parts)


def files_of(endpoints: list[flight.FlightEndpoint]) -> list[str]:
    """Return the files that endpoints refer to."""
    uris = [each.locations[0].uri.decode() for each in endpoints]
    prefix = "data:application/msgpack;base64,"
    contents = [
        msgpack.unpackb(base64.b64decode(uri.removeprefix(prefix)))
        for uri in uris
        if uri.startswith(prefix)
    ]
    assert all(each["format"] == "parquet" for each in contents)
    return [each["uri"] for each in contents]


def test_locations_are_whole_surviving_files(tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 20)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(ORDERS.slice(first, 20), path, row_group_size=5)
    with serving({"orders": tmp_path}, with_locations=True) as uri:
        endpoints = Client(uri).endpoints("orders", document(uri, 24))
        assert files_of(endpoints) == [str(tmp_path / "b.parquet")]
        assert exact(endpoints) == []  # the first row group of the file has other rows
        assert exact(Client(uri).endpoints("orders", document(uri, 19))) == [0]
        assert len(files_of(Client(uri).endpoints("orders"))) == 2


def test_files_that_clients_would_read_differently_have_no_location(tmp_path: Path) -> None:
    for name, column in (
        ("narrow.parquet", pa.array([1], pa.int8())),
        ("good.parquet", pa.array([2], pa.int64())),
        ("pattern[x].parquet", pa.array([3], pa.int64())),
    ):
        pq.write_table(pa.table({"id": column}), tmp_path / name)
    with serving({"t": tmp_path}, with_locations=True) as uri:
        client = Client(uri)
        endpoints = client.endpoints("t", columns=[0])
        assert files_of(endpoints) == [str(tmp_path / "good.parquet")]
        streams = [e for e in endpoints if not e.locations[0].uri.startswith(b"data:")]
        assert sorted(row["id"] for row in client.rows(streams)) == [1, 3]


def test_partitioned_tables_have_no_locations(root: Path) -> None:
    with serving({"orders": root}, with_locations=True) as uri:
        assert files_of(Client(uri).endpoints("orders")) == []
        assert len(Client(uri).rows(Client(uri).endpoints("orders"))) == 40


def test_tables_below_a_partition_folder_have_no_locations(tmp_path: Path) -> None:
    """DuckDB reads the column `id` from the folder `id=7`."""
    folder = tmp_path / "id=7" / "orders"
    folder.mkdir(parents=True)
    pq.write_table(ORDERS, folder / "a.parquet")
    with serving({"orders": folder}, with_locations=True) as uri:
        assert files_of(Client(uri).endpoints("orders")) == []
        assert len(Client(uri).rows(Client(uri).endpoints("orders"))) == 40


def test_documents_of_tamis_are_answered(uri: str) -> None:
    """DuckDB's evaluation of the document gives the same rows."""
    text = document(uri, 27)
    client = Client(uri)
    rows = client.rows(client.endpoints("orders", text))
    kept = filtered(ORDERS, json.loads(text)).column("id").to_pylist()
    assert set(kept) <= {row["id"] for row in rows} <= set(range(20, 40))

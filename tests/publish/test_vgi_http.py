"""The worker over HTTP: headers, statuses, cursors, tokens, limits, and callers at the same time."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from tamis.publish.vgi.serve_command import catalog_of
from tamis.publish.vgi.transports.bodies import Limits
from tamis.publish.vgi.transports.http import Server
from tamis.remote.vgi.protocol import framing, records
from tamis.remote.vgi.protocol.framing import (
    CURSOR,
    METHOD,
    PROTOCOL_VERSION,
    request_metadata,
    stream_bytes,
)
from tests.publish.vgi_calls import (
    Caller,
    arguments,
    bind_call,
    failure,
    init,
    request,
    result,
    served,
    streams,
    turn,
)
from tests.wire.vgi.documents import batch, column, comparison, delta, literal, snapshot, upsert

NUMBERS = pa.schema({"n": pa.int64(), "s": pa.string(), "pushed_filters": pa.string()})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(catalog_of("tamis", {})) as running:
        yield running


def numbers(count: int, size: int = 10) -> bytes:
    return bind_call("filter_echo", arguments([count], batch_size=size))


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_health_says_what_the_worker_can_do(server: Server, method: str) -> None:
    status, _, headers = Caller(server).send("/any/prefix/health", b"", method)
    assert status == 200
    assert headers["vgi-accept-max-response-bytes-support"] == "true"
    assert headers["vgi-externalization-enabled"] == "false"
    assert headers["vgi-supported-encodings"] == "zstd, gzip"


def test_reflection_lists_every_method(server: Server) -> None:
    caller = Caller(server)
    protocols = records.PROTOCOLS.unpack(result(caller.call("list_protocols")))
    assert ("vgi.v2", "2.2.0") in [
        (each["protocol"], each["protocol_version"]) for each in protocols["protocols"]
    ]
    described = records.DESCRIPTION.unpack(result(caller.call("describe", protocol="vgi.v2")))
    names = [each["name"] for each in described["methods"]]
    assert names == sorted(names)
    assert {"bind", "init", "catalog_attach", "table_function_plan"} <= set(names)


def test_scan_continues_with_cursors_on_one_connection(server: Server) -> None:
    caller = Caller(server)
    found = caller.scan(init(numbers(95), NUMBERS, projection_ids=[1, 0]))
    assert [each.num_rows for each in found] == [10] * 9 + [5]
    table = pa.Table.from_batches(found)
    assert table.column_names == ["s", "n"]
    assert table["n"].to_pylist() == list(range(95))


def test_repeated_turn_has_the_same_answer(server: Server) -> None:
    caller = Caller(server)
    _, opened, _ = caller.send("/vgi.v2/init/init", init(numbers(30), NUMBERS))
    cursor = streams(opened)[1][-1].metadata[CURSOR]
    answers = [caller.send("/vgi.v2/init/exchange", turn({CURSOR: cursor}))[1] for _ in range(2)]
    assert answers[0] == answers[1]
    following = streams(answers[1])[0][-1].metadata[CURSOR]
    caller.send("/vgi.v2/init/exchange", turn({CURSOR: following}))
    _, late, headers = caller.send("/vgi.v2/init/exchange", turn({CURSOR: cursor}))
    assert "not the last one of its scan" in failure(late)
    assert headers["x-vgi-rpc-error"] == "true"


def test_tampered_cursor_is_refused(server: Server) -> None:
    caller = Caller(server)
    _, opened, _ = caller.send("/vgi.v2/init/init", init(numbers(30), NUMBERS))
    cursor = base64.b64decode(streams(opened)[1][-1].metadata[CURSOR])
    for place in range(len(cursor)):
        changed = bytearray(cursor)
        changed[place] ^= 1
        signed = base64.b64encode(bytes(changed))
        status, body, _ = caller.send("/vgi.v2/init/exchange", turn({CURSOR: signed}))
        assert status == 400
        assert "the cursor is not valid" in failure(body)
    for other in (b"", b"%%", base64.b64encode(b"x" * 500)):
        assert caller.send("/vgi.v2/init/exchange", turn({CURSOR: other}))[0] == 400
    assert caller.send("/vgi.v2/init/exchange", turn({b"other": b"x"}))[0] == 400


def test_cancel_ends_the_scan(server: Server) -> None:
    caller = Caller(server)
    _, opened, _ = caller.send("/vgi.v2/init/init", init(numbers(30), NUMBERS))
    cursor = streams(opened)[1][-1].metadata[CURSOR]
    metadata = {CURSOR: cursor, framing.CANCEL: b"1"}
    assert streams(caller.send("/vgi.v2/init/exchange", turn(metadata))[1]) == [[]]


def test_answer_is_no_larger_than_the_client_accepts(server: Server) -> None:
    found = Caller(server).scan(
        init(numbers(20_000, 10_000), NUMBERS), VGI_Accept_Max_Response_Bytes="100000"
    )
    assert max(each.nbytes for each in found) < 100_000
    assert pa.Table.from_batches(found)["n"].to_pylist() == list(range(20_000))


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_compressed_request_is_read(server: Server, codec: str) -> None:
    body = pa.compress(request("catalog_catalogs"), codec, asbytes=True)
    status, answer, _ = Caller(server).send(
        "/vgi.v2/catalog_catalogs", body, Content_Encoding=codec
    )
    assert status == 200
    assert not failure(answer)


BIND = request("bind", request=numbers(3))


def versioned(version: str) -> bytes:
    metadata = {PROTOCOL_VERSION: version.encode()}
    return request("bind", metadata, request=numbers(3))


#: Path, body, headers, the status, and a part of the error.
REFUSED: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("/vgi.v2/bind", b"", {}, 200, "no Arrow stream"),
    ("/vgi.v2/bind", b"garbage" * 100, {}, 200, "no Arrow stream"),
    ("/vgi.v2/bind", BIND[:-20], {}, 200, "malformed"),
    ("/vgi.v2/bind", BIND, {"Content-Type": "text/plain"}, 415, "content type"),
    ("/vgi.v2/bind", BIND, {"Content-Encoding": "br"}, 415, "neither zstd nor gzip"),
    ("/vgi.v2/bind", BIND, {"Content-Encoding": "zstd"}, 400, "cannot be decompressed"),
    ("/vgi.v2/catalog_attach", BIND, {}, 400, "different methods"),
    ("/other/bind", BIND, {}, 400, "different methods"),
    ("/vgi.v2/bind", versioned("1.5.0"), {}, 400, "Server: 2.2.0"),
    ("/vgi.v2/bind", versioned("2.3.0"), {}, 400, "Server: 2.2.0"),
    ("/vgi.v2/bind", versioned("2.1.7"), {}, 200, ""),
    ("/vgi.v2/bind", versioned("2.0.0"), {}, 200, ""),
    (
        "/vgi.v2/nope",
        stream_bytes(framing.EMPTY, request_metadata("nope", "2.2.0")),
        {},
        404,
        "not implemented",
    ),
    (
        "/vgi.v3/bind",
        stream_bytes(framing.EMPTY, request_metadata("bind", "2.2.0", "vgi.v3")),
        {},
        404,
        "not supported",
    ),
    ("/bind", stream_bytes(framing.EMPTY, {METHOD: b"bind"}), {}, 400, "names no protocol"),
]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "text"), REFUSED, ids=lambda each: str(each)[:30]
)
def test_malformed_http_request_is_refused(
    server: Server, path: str, body: bytes, headers: dict[str, str], status: int, text: str
) -> None:
    caller = Caller(server)
    got, answer, _ = caller.send(path, body, **{k.replace("-", "_"): v for k, v in headers.items()})
    assert got == status
    assert text in failure(answer)
    assert bool(text) == bool(failure(answer))
    # The worker goes on, on this connection or another.
    assert not failure(Caller(server).call("catalog_catalogs"))


def test_bodies_that_are_too_long_are_refused() -> None:
    with served(catalog_of("tamis", {}), limits=Limits(sent=2_000, decoded=20_000)) as server:
        assert Caller(server).send("/vgi.v2/bind", b"x" * 2_001)[0] == 413
        bomb = pa.compress(b"\0" * 20_001, "zstd", asbytes=True)
        assert Caller(server).send("/vgi.v2/bind", bomb, Content_Encoding="zstd")[0] == 413
        caller = Caller(server)
        caller.connection.request("POST", "/vgi.v2/bind", iter([BIND]), caller.headers)
        assert caller.connection.getresponse().status == 411


def test_clients_that_are_still_sending_receive_the_refusal() -> None:
    with served(catalog_of("tamis", {}), limits=Limits(sent=2_000)) as server:
        assert Caller(server).send("/vgi.v2/bind", b"x" * (16 << 20))[0] == 413
        chunks = (b"x" * (1 << 20) for _ in range(16))
        caller = Caller(server)
        caller.connection.request("POST", "/vgi.v2/bind", chunks, caller.headers)
        assert caller.connection.getresponse().status == 411


def test_requests_without_the_token_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    with served(catalog_of("tamis", {}), tokens=["first-secret", "second-secret"]) as server:
        body = request("catalog_catalogs")
        for header, status in (
            (None, 401),
            ("Bearer wrong", 401),
            ("Basic first-secret", 401),
            ("Bearer first-secret", 200),
            ("bearer second-secret", 200),
        ):
            headers = {} if header is None else {"Authorization": header}
            got, answer, answered = Caller(server, headers).send("/vgi.v2/catalog_catalogs", body)
            assert got == status
            if status == 401:
                assert json.loads(answer)["error"] == "unauthorized"
                assert answered["vgi-auth-reason"] == json.loads(answer)["reason"]
        # A cursor is valid for the caller that opened the scan.
        first = Caller(server, {"Authorization": "Bearer first-secret"})
        _, opened, _ = first.send("/vgi.v2/init/init", init(numbers(30), NUMBERS))
        cursor = turn({CURSOR: streams(opened)[1][-1].metadata[CURSOR]})
        second = Caller(server, {"Authorization": "Bearer second-secret"})
        assert second.send("/vgi.v2/init/exchange", cursor)[0] == 400
        assert first.send("/vgi.v2/init/exchange", cursor)[0] == 200
        assert Caller(server).send("/health", b"", "GET")[0] == 200
        assert "secret" not in repr(server.tokens) + repr(vars(server.tokens)) + caplog.text


def test_concurrent_callers_get_their_own_answers(server: Server) -> None:
    def scan(count: int) -> list[int]:
        found = Caller(server).scan(init(numbers(count, 7), NUMBERS))
        return [each for part in found for each in part.column("n").to_pylist()]

    with ThreadPoolExecutor(8) as pool:
        for count, found in zip(range(50, 74), pool.map(scan, range(50, 74)), strict=True):
            assert found == list(range(count))


def test_updated_filters_apply_from_the_next_batch(server: Server) -> None:
    above = comparison("ge", column(0, "n"), literal(0))
    update = batch(delta(upsert(above, "top", 1)), {"value_0": pa.array([25])})
    caller = Caller(server)
    opening = init(numbers(40), NUMBERS, pushdown_filters=batch(snapshot()))
    _, opened, _ = caller.send("/vgi.v2/init/init", opening)
    first, cursor = streams(opened)[1]
    assert first.batch.column("n").to_pylist() == list(range(10))
    metadata = {CURSOR: cursor.metadata[CURSOR], b"vgi_pushdown_filters": base64.b64encode(update)}
    ((second, _),) = streams(caller.send("/vgi.v2/init/exchange", turn(metadata))[1])
    assert second.batch.column("n").to_pylist() == [25, 26, 27, 28, 29]


@pytest.mark.parametrize(
    ("snapshot_filter", "update", "text"),
    [
        (None, base64.b64encode(batch(delta())), "without an initial snapshot"),
        (batch(snapshot()), b"%%", "not base64"),
        (batch(snapshot()), base64.b64encode(b"garbage"), "not an Arrow IPC stream"),
        (batch(snapshot()), base64.b64encode(batch(snapshot())), "not a delta"),
    ],
)
def test_malformed_update_ends_the_scan(
    server: Server, snapshot_filter: bytes | None, update: bytes, text: str
) -> None:
    caller = Caller(server)
    opening = init(numbers(40), NUMBERS, pushdown_filters=snapshot_filter)
    _, opened, _ = caller.send("/vgi.v2/init/init", opening)
    metadata = {
        CURSOR: streams(opened)[1][-1].metadata[CURSOR],
        b"vgi_pushdown_filters": update,
    }
    assert text in failure(caller.send("/vgi.v2/init/exchange", turn(metadata))[1])

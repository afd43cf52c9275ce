"""The worker as a process: requests on one stream, answers on another."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest

from tamis.publish.vgi.requests.dispatch import Dispatcher
from tamis.publish.vgi.serve_command import catalog_of
from tamis.publish.vgi.transports.stdio import serve
from tamis.remote.vgi.protocol import framing, records
from tamis.remote.vgi.protocol.framing import CANCEL, EMPTY, Kind, Part, kind_of
from tests.publish.vgi_calls import arguments, bind_call, init, request, streams
from tests.wire.vgi.documents import batch, column, comparison, literal, predicate, snapshot

pytestmark = pytest.mark.programs

NUMBERS = pa.schema({"n": pa.int64(), "s": pa.string(), "pushed_filters": pa.string()})
CATALOGS = request("catalog_catalogs")


def numbers(count: int, size: int = 10) -> bytes:
    return bind_call("filter_echo", arguments([count], batch_size=size))


def turns(*metadata: dict[bytes, bytes] | None) -> bytes:
    """Return the input of a scan: one batch per turn."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, EMPTY.schema) as writer:
        for each in metadata:
            writer.write_batch(EMPTY, custom_metadata=each)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def answers(*parts: bytes) -> tuple[bool, list[list[Part]]]:
    """Return whether all requests were well-formed, and the streams of the answers."""
    source = io.BufferedReader(io.BytesIO(b"".join(parts)))  # type: ignore[arg-type]
    sink = io.BytesIO()
    is_good = serve(Dispatcher(catalog_of("tamis", {})), source, sink)
    return is_good, streams(sink.getvalue())


def kinds(stream: Sequence[Part]) -> list[Kind]:
    return [kind_of(each) for each in stream]


def rows(stream: Sequence[Part]) -> list[int]:
    return [n for each in stream if each.batch.num_rows for n in each.batch.column("n").to_pylist()]


def test_requests_follow_each_other() -> None:
    assert answers() == (True, [])
    is_good, (first, header, scan, last) = answers(
        CATALOGS, init(numbers(25), NUMBERS), turns(None, None, None, None), CATALOGS
    )
    assert is_good
    assert [len(each) for each in (first, header, scan, last)] == [1, 1, 3, 1]
    assert rows(scan) == list(range(25))
    batch_of_header = records.SCAN_HEADER.unpack(framing.stream_bytes(header[0].batch))
    assert batch_of_header["max_workers"] == 1


def test_client_may_end_a_scan_early() -> None:
    for ending in (turns(None), turns(None, {CANCEL: b"1"}), turns(None, {CANCEL: b"1"}, None)):
        is_good, (_, scan, last) = answers(init(numbers(25), NUMBERS), ending, CATALOGS)
        assert is_good
        assert rows(scan) == list(range(10))
        assert kinds(last) == [Kind.DATA]


def test_scan_without_turns_has_no_rows() -> None:
    _, (_, scan, last) = answers(init(numbers(25), NUMBERS), turns(), CATALOGS)
    assert (scan, kinds(last)) == ([], [Kind.DATA])


@pytest.mark.parametrize("following", [turns(), b""], ids=["empty input", "no input"])
def test_worker_continues_after_a_scan_that_could_not_be_opened(following: bytes) -> None:
    wrong = init(numbers(25), NUMBERS, projection_ids=[3])
    is_good, (problem, last) = answers(wrong, following, CATALOGS)
    assert is_good
    assert kinds(problem) == [Kind.ERROR]
    assert kinds(last) == [Kind.DATA]


def test_worker_continues_after_an_error_within_a_scan() -> None:
    total = {"node": "arithmetic", "op": "multiply", "left": column(0, "n"), "right": literal(0)}
    overflowing = comparison("ge", total, literal(1))
    constants = {"value_0": pa.array([2**60]), "value_1": pa.array([0])}
    content = batch(snapshot(predicate(overflowing)), constants)
    is_good, (_, scan, last) = answers(
        init(numbers(25, 3), NUMBERS, pushdown_filters=content), turns(*[None] * 5), CATALOGS
    )
    assert is_good
    assert kinds(scan) == [Kind.DATA, Kind.ERROR]
    assert rows(scan) == [0, 1, 2]
    assert kinds(last) == [Kind.DATA]


#: A request, and a part of its error.
REFUSED: list[tuple[bytes, str]] = [
    (request("bind", request=b"garbage"), "the call of a function"),
    (request("bind", request=bind_call("nope", arguments())), "no function 'nope'"),
    (request("bind", request=bind_call("filter_echo", b"garbage")), "the arguments"),
    (request("bind", request=bind_call("filter_echo", arguments())), "needs the argument 'count'"),
    (request("bind", request=numbers(-1)), "count is not between"),
    (request("bind", request=numbers(1, 0)), "batch_size is not between"),
    (request("bind", request=bind_call("filter_echo", arguments(["x"]))), "is not int64"),
    (request("bind", request=bind_call("filter_echo", arguments([1, 2]))), "positional_1"),
    (request("bind", request=bind_call("filter_echo", arguments([1], x=1))), "named_x"),
    (request("bind", request=bind_call("filter_echo", arguments([1]), at_unit="v")), "at_unit"),
    (
        request("bind", request=bind_call("filter_echo", arguments([1]), schema_path=["x"])),
        "no function",
    ),
    (
        request("bind", request=bind_call("filter_echo", arguments([1]), function_type="SCALAR")),
        "only table functions",
    ),
    (init(numbers(5), NUMBERS, projection_ids=[-1]), "projection id"),
    (init(numbers(5), NUMBERS, row_limit=-1), "row limit"),
    (init(numbers(5), NUMBERS, split_tokens=[b"x"]), "SPLIT_TOKEN_INVALID"),
    (init(numbers(5), NUMBERS, execution_id=b"x"), "second connection"),
    (init(numbers(5), NUMBERS, tablesample_percentage=5.0), "TABLESAMPLE"),
    (init(numbers(5), NUMBERS, join_keys=[b"garbage"], pushdown_filters=b"x"), "the join keys"),
    (init(numbers(5), NUMBERS, pushdown_filters=b"garbage"), "not an Arrow IPC stream"),
    (init(numbers(5), NUMBERS.remove(0)), "the columns have changed"),
    (request("catalog_attach", request=records.CATALOG_ATTACH_REQUEST.pack(name="x")), "'x'"),
    (request("catalog_table_scan_function_get", attach_opaque_data=b"", name="x"), "no table"),
    (request("describe", protocol="vgi.v3"), "no description"),
    (framing.stream_bytes(pa.record_batch({"x": [1]}), {b"other": b"x"}), "names no method"),
    (
        framing.stream_bytes(
            pa.record_batch({"request": [b"x"], "more": [1]}),
            framing.request_metadata("bind", "2.2.0"),
        ),
        "no parameter 'more'",
    ),
    (
        framing.stream_bytes(
            pa.record_batch({"request": [1]}), framing.request_metadata("bind", "2.2.0")
        ),
        "request",
    ),
]


@pytest.mark.parametrize(("body", "text"), REFUSED, ids=lambda each: str(each)[-30:])
def test_refused_requests_are_answered_with_an_error(body: bytes, text: str) -> None:
    is_good, (problem, last) = answers(body, CATALOGS)
    assert is_good
    assert kinds(problem) == [Kind.ERROR]
    message = framing.failure_of(problem[0]).message
    assert text in message
    assert "Traceback" not in message
    assert kinds(last) == [Kind.DATA]


def test_broken_records_are_answered_without_an_internal_error() -> None:
    node = comparison("ge", column(0, "n"), literal(0))
    content = batch(snapshot(predicate(node)), {"value_0": pa.array([7])})
    columns = NUMBERS.serialize().to_pybytes()
    record = records.INIT_REQUEST.pack(
        bind_call=numbers(5), output_schema=columns, pushdown_filters=content
    )
    dispatcher = Dispatcher(catalog_of("tamis", {}))
    for place in range(0, len(record), 5):
        for broken in (record[:place], record[:place] + b"\xff" + record[place + 1 :]):
            (part,) = streams(request("init", request=broken))[0]
            answer = dispatcher.answer(part)
            if answer.problem is not None:
                message = framing.failure_of(streams(answer.body)[0][0]).message
                assert not message.startswith("InternalError"), (place, answer.problem)


def test_transport_options_are_read() -> None:
    body = framing.stream_bytes(EMPTY, {framing.METHOD: b"__transport_options__"})
    _, ((options,),) = answers(body)
    assert options.metadata[b"vgi_rpc.transport.shm"] == b"false"
    assert options.metadata[b"vgi_rpc.request_version"] == b"1"


@pytest.mark.parametrize("broken", [b"garbage", CATALOGS[:-9], CATALOGS[:40] + b"\xff" * 99])
def test_bytes_that_are_not_a_request_end_the_worker_with_an_error(broken: bytes) -> None:
    is_good, (*_, last) = answers(CATALOGS, broken)
    assert not is_good
    assert kinds(last) == [Kind.ERROR]


def test_limit_is_not_applied_before_filters_of_the_engine() -> None:
    node = comparison("ge", column(0, "n"), literal(0))
    for mode, count in (("required", 7), ("advisory", 90)):
        content = batch(snapshot(predicate(node, mode=mode)), {"value_0": pa.array([5])})
        opening = init(numbers(95), NUMBERS, row_limit=7, pushdown_filters=content)
        _, (_, scan) = answers(opening, turns(*[None] * 11))
        assert len(rows(scan)) == count


def test_limit_and_empty_projection() -> None:
    _, (_, scan) = answers(init(numbers(95), NUMBERS, row_limit=17), turns(*[None] * 10))
    assert rows(scan) == list(range(17))
    _, (_, scan) = answers(init(numbers(15), NUMBERS, projection_ids=[]), turns(*[None] * 3))
    assert [each.batch.num_rows for each in scan] == [10, 5]
    assert scan[0].batch.num_columns == 0


def test_command_answers_and_ends_with_its_input(tmp_path: object) -> None:
    command = [sys.executable, "-m", "tamis", "serve-vgi", "nothing=/nowhere/at/all"]
    done = subprocess.run(command, input=CATALOGS, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        b"tamis: /nowhere/at/all does not exist: pass the path of an existing table\n"
    )
    assert done.stdout == b""

"""Reading functions of VGI workers: requests, and everything that can be wrong about answers."""

from __future__ import annotations

import json
import pickle
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal
from tamis.expr.types import BOOLEAN, LONG, STRING
from tamis.remote.contract import Applied, JoinKeys, ReadRequest, RemoteError
from tamis.remote.vgi.functions import splits
from tamis.remote.vgi.functions.scan_task import VgiTask
from tamis.remote.vgi.protocol.framing import error_metadata, stream_bytes
from tamis.remote.vgi.protocol.methods import RESULT
from tamis.remote.vgi.protocol.records import CARDINALITY, INIT_REQUEST, PLANNED, SPLIT
from tamis.remote.vgi.source import VgiSource
from tamis.remote.vgi.transports import pipe_connection
from tests.remote import vgi_script as script

pytestmark = pytest.mark.programs

ROWS = pa.record_batch({"n": pa.array([1, 2], pa.int64()), "s": ["a", None]})
ABOVE: Expr = Compare(Comparison.GREATER, Column(("n",), LONG), Literal(1, LONG))


def source(folder: Path, *answers: bytes, end: str = script.QUIET, **more: str) -> VgiSource:
    uri = script.command(folder, *answers, end=end)
    return VgiSource({"uri": uri, "function": "numbers", **more})


def task(
    folder: Path, *answers: bytes, end: str = script.QUIET, limit: int | None = None
) -> VgiTask:
    uri = script.command(folder, *answers, end=end)
    return VgiTask(
        "the table function numbers of the VGI worker x", uri, "2.2.0", b"r", limit=limit
    )


def test_function_is_bound_and_read(tmp_path: Path) -> None:
    read = source(tmp_path, *script.prelude())
    assert read.schema() == script.COLUMNS
    (planned,) = read.tasks(ReadRequest(("n",)))
    assert isinstance(planned, VgiTask)
    assert planned.version == "2.2.0"
    scan = task(tmp_path, script.HEADER, script.batches(ROWS.schema, ROWS, ROWS))
    assert [each.num_rows for each in scan.batches()] == [2, 2]


def test_logs_are_skipped(tmp_path: Path) -> None:
    noisy = stream_bytes(
        ROWS.slice(0, 0), {b"vgi_rpc.log_level": b"INFO", b"vgi_rpc.log_message": b"x"}
    )
    log_then_rows = (
        noisy[:-8] + script.batches(ROWS.schema, ROWS)[len(script.batches(ROWS.schema)) - 8 :]
    )
    assert [b.num_rows for b in task(tmp_path, script.HEADER, log_then_rows).batches()] == [2]


def test_limit_ends_the_scan(tmp_path: Path) -> None:
    scan = task(
        tmp_path, script.HEADER, script.batches(ROWS.schema, ROWS, ROWS, closed=False), limit=1
    )
    assert [each.num_rows for each in scan.batches()] == [2]


PRELUDE = list(script.prelude())
MALFORMED: list[tuple[Sequence[bytes], str]] = [
    ([b"garbage"], "list_protocols of the table function numbers failed: no Arrow stream begins"),
    ([], "list_protocols of the table function numbers failed: no Arrow stream begins"),
    ([stream_bytes(ROWS)], "the answer is not one result"),
    ([script.batches(RESULT)], "the answer has no batch"),
    ([script.result(b"x")], "the list of protocols: no Arrow stream begins here"),
    ([script.result(stream_bytes(ROWS))], "the list of protocols has 2 rows instead of one"),
    (
        [script.protocols("1.6.0")],
        "the worker speaks VGI 1.6.0, but tamis supports 1.0 to 1.5 and 2.0 to 2.2",
    ),
    ([script.protocols("3.0.0", "vgi.v3")], "the worker speaks VGI 3.0.0"),
    (
        [script.protocols(), script.items()],
        "the worker has 0 catalogs: none. Set the option catalog",
    ),
    (
        [script.protocols(), script.items(script.catalog("a"), script.catalog("b"))],
        "the worker has 2 catalogs: a, b",
    ),
    ([script.protocols(), script.items(b"x")], "catalog_catalogs of the .*: a catalog: no Arrow"),
    ([*PRELUDE[:2], script.result(None)], "catalog_attach of the .* failed: the answer is NULL"),
    (
        [*PRELUDE[:2], script.error("not today")],
        "catalog_attach of .* failed: ValueError: not today",
    ),
    (
        [*PRELUDE[:3], script.items()],
        "there is no such table function. The table functions are none",
    ),
    (
        [*PRELUDE[:3], script.items(script.function("other"))],
        "there is no such table function. The table functions are other",
    ),
    (
        [*PRELUDE[:3], script.items(script.function(function_type="TABLE_BUFFERING"))],
        "the function takes a table as its input",
    ),
    (
        [*PRELUDE[:3], script.items(script.function(arguments=pa.schema({"count": pa.int64()})))],
        "reading the arguments of the .* failed: the positional argument count is missing",
    ),
    ([*PRELUDE[:4], script.result(b"")], "bind of the .* failed: the bound function: no Arrow"),
    (
        [*PRELUDE[:4], script.bound(pa.schema([("n", pa.int64()), ("n", pa.int64())]))],
        "the function has several columns with the same name",
    ),
    (
        [*PRELUDE[:4], script.bound(lookup_secret_types=["s3"])],
        r"the function needs secrets \(s3\), and tamis has none",
    ),
    (
        [*PRELUDE[:4], stream_bytes(ROWS.slice(0, 0), {b"vgi_rpc.location": b"https://x"})],
        "the worker refers to rows at another location",
    ),
]


@pytest.mark.parametrize(("answers", "says"), MALFORMED)
def test_malformed_answers_are_errors(tmp_path: Path, answers: Sequence[bytes], says: str) -> None:
    with pytest.raises(RemoteError, match=says) as refused:
        source(tmp_path, *answers).schema()
    assert str(refused.value).startswith("the VGI worker /bin/sh -c")


def test_version_is_probed_if_the_worker_lists_none(tmp_path: Path) -> None:
    unknown = script.error("no such method", "method_not_implemented")
    mismatch = script.error("mismatch\nServer: 1.6.0\nClient: 2.2.0", "protocol_version_mismatch")
    # Each refusal ends the connection, so the worker answers both times in the same way.
    read = source(tmp_path, unknown, mismatch)
    with pytest.raises(RemoteError, match=r"list_protocols|catalog_catalogs"):
        read.schema()
    read = source(tmp_path, mismatch)
    with pytest.raises(
        RemoteError, match=r"speaks VGI 1\.6\.0, but tamis supports 1\.0 to 1\.5 and 2\.0"
    ):
        read.schema()


SCANS: list[tuple[Sequence[bytes], str, str]] = [
    ([], "exit 3", "starting the scan failed: the worker ended with the status 3"),
    ([], "echo out of memory >&2; exit 3", "with the status 3: out of memory"),
    ([b"garbage garbage"], script.QUIET, "starting the scan failed: no Arrow stream"),
    ([script.error("no snapshot")], script.QUIET, "starting the scan failed: ValueError: no"),
    ([stream_bytes(ROWS)], script.QUIET, "the header of the scan is not one row"),
    ([script.HEADER], "head -c 1 > /dev/null; exit 1", "the worker ended with the status 1"),
    ([script.HEADER, b"garbage!"], script.QUIET, "reading failed: no Arrow stream"),
    (
        [script.HEADER, script.batches(ROWS.schema, ROWS, closed=False)[:-40]],
        "head -c 1 > /dev/null; exit 9",
        "the worker ended with the status 9",
    ),
    (
        [script.HEADER, stream_bytes(ROWS.slice(0, 0), error_metadata("IOError", "disk is full"))],
        script.QUIET,
        "reading failed: IOError: disk is full",
    ),
    (
        [script.HEADER, stream_bytes(ROWS, {b"vgi_rpc.shm_offset": b"0"})],
        script.QUIET,
        "reading failed: the worker refers to rows at another location",
    ),
]


@pytest.mark.parametrize(("answers", "end", "says"), SCANS)
def test_scan_that_breaks_is_an_error(
    tmp_path: Path, answers: Sequence[bytes], end: str, says: str
) -> None:
    scan = task(tmp_path, *answers, end=end)
    with pytest.raises(RuntimeError, match=f"table function numbers of the VGI worker x: .*{says}"):
        list(scan.batches())


def test_worker_that_does_not_answer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_connection, "CALL_SECONDS", 1.0)
    scan = task(tmp_path, end="sleep 60")
    with pytest.raises(RuntimeError, match="the worker was killed, because it gave no answer"):
        list(scan.batches())


def test_stream_that_ends_without_its_end_is_an_error(tmp_path: Path) -> None:
    whole = script.batches(ROWS.schema, ROWS, ROWS, closed=False)
    scan = task(tmp_path, script.HEADER, whole)
    with pytest.raises(RuntimeError, match="reading failed: the Arrow stream breaks off"):
        list(scan.batches())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"uri": ""}, "the option uri is missing"),
        ({"function": ""}, "pass either the option function or the option table"),
        ({"table": "t"}, "pass either the option function or the option table"),
        ({"function": "", "table": "t", "arguments": "[1]"}, "'arguments' is for functions only"),
        ({"fuction": "x"}, "fuction is not one of uri, function"),
        ({"arguments": "{"}, "the option 'arguments' is not JSON"),
        ({"arguments": '{"pos": []}'}, "the option 'arguments' is not {"),
        ({"filters": "some"}, "the option filters must be exact, advisory or off"),
        ({"token": "secret"}, "token is for http:// and https:// only"),
        ({"uri": "tcp://localhost:1"}, "tcp is not supported. Use http://"),
        ({"uri": "launch:x"}, "launch is not supported"),
        ({"uri": "/no/such/program"}, "/no/such/program cannot be started"),
        ({"uri": "x 'y"}, "the option uri is not a command"),
        ({"uri": "http://127.0.0.1:1"}, "Connection refused. Check the option uri"),
        ({"uri": "http://user:secret@h"}, "the option uri is not http"),
        ({"uri": "http://h:x"}, "the option uri is malformed"),
        ({"uri": "http://h", "token": "sec\nret"}, "the option token has characters"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(RemoteError, match=says) as refused:
        VgiSource({"uri": "cat", "function": "numbers", **options}).schema()
    assert "sec" not in str(refused.value).replace("secrets", "").replace(
        options.get("uri", "-"), ""
    )


def test_token_is_shown_nowhere() -> None:
    read = VgiSource({"uri": "http://127.0.0.1:1", "function": "f", "token": "secret-1"})
    scan = VgiTask("w", "http://127.0.0.1:1", "2.2.0", b"secret-2", token="secret-1")
    with pytest.raises(RuntimeError) as failed:
        list(scan.batches())
    with pytest.raises(RemoteError) as refused:
        read.schema()
    texts = [repr(read), str(vars(read)), repr(scan), str(failed.value), str(refused.value)]
    assert not any("secret" in each for each in texts)
    assert b"secret-1" in pickle.dumps(scan)


# --- filters ----------------------------------------------------------------------------------


def test_required_filters_are_those_that_the_function_applies_exactly(tmp_path: Path) -> None:
    read = source(tmp_path, *script.prelude())
    assert read.applied([ABOVE]) == [Applied.EXACTLY]
    (planned,) = read.tasks(ReadRequest(("s",), required=(ABOVE,)))
    assert isinstance(planned, VgiTask)
    assert planned.fallback == b""
    (optional,) = read.tasks(ReadRequest(("s",), filters=(ABOVE,)))
    assert isinstance(optional, VgiTask)
    assert optional.fallback not in (b"", optional.request)


NO_FILTERS = [
    {"filter_pushdown": False},
    {"filter_pushdown": None},
    {"filter_semantic_profiles": []},
    {"filter_semantic_profiles": ["vgi.duckdb.standard.v2"]},
]


@pytest.mark.parametrize("lacks", NO_FILTERS, ids=str)
def test_function_without_filters_gets_none(tmp_path: Path, lacks: dict[str, object]) -> None:
    read = source(tmp_path, *script.prelude(script.function(**lacks)))
    assert read.applied([ABOVE]) == [Applied.IGNORED]
    with pytest.raises(RemoteError, match="a filter can no longer be sent"):
        read.tasks(ReadRequest(("n",), required=(ABOVE,)))
    (planned,) = read.tasks(ReadRequest(("n",), filters=(ABOVE,)))
    assert isinstance(planned, VgiTask)
    assert b"filter_spec" not in planned.request


IDENTITY = {"namespace": "spatial", "name": "st_intersects", "version": 1}
DECLARES: list[dict[str, object]] = [
    {},
    {"additional_filter_functions": [IDENTITY]},
    {"runtime_filter_algorithms": [{**IDENTITY, "namespace": "duckdb.runtime_filter"}]},
    {"filter_evaluation_contexts": [{"profile": "vgi.duckdb.session.v1"}]},
    {"filter_semantic_profiles": ["vgi.duckdb.standard.v2", script.SEMANTICS]},
]


@pytest.mark.parametrize("declares", DECLARES, ids=str)
def test_filters_need_nothing_that_a_function_may_declare(
    tmp_path: Path, declares: dict[str, object]
) -> None:
    """Whatever else it declares: standard nodes, no evaluation context, and the agreed profile."""
    read = source(tmp_path, *script.prelude(script.function(**declares)))
    ends = Call("EndsWith", (Column(("s",), STRING), Literal("x", STRING)), (), BOOLEAN)
    keys = JoinKeys(Column(("n",), LONG), (1, 2))
    assert read.applied([ABOVE, ends]) == [Applied.EXACTLY] * 2
    (planned,) = read.tasks(ReadRequest(("n",), filters=(ends,), required=(ABOVE,), keys=(keys,)))
    assert isinstance(planned, VgiTask)
    request = INIT_REQUEST.unpack(planned.request)
    with pa.ipc.open_stream(request["pushdown_filters"]) as reader:
        assert reader.schema.metadata[b"vgi_evaluation_context"] == b"vgi.none.v1"
        document = json.loads(reader.read_next_batch()["filter_spec"][0].as_py())
    assert (document["kind"], document["semantics"]) == ("snapshot", script.SEMANTICS)
    nodes = [each["expression"] for each in document["predicates"]]
    assert [each["node"] for each in nodes] == ["comparison", "call", "in"]
    assert nodes[1]["function"] == "ends_with"
    assert nodes[2]["set"]["kind"] == "external"
    assert [each["mode"] for each in document["predicates"]] == ["required", "advisory", "advisory"]


def test_overloads_have_what_all_of_them_support(tmp_path: Path) -> None:
    other = script.function(arguments=pa.schema({"x": pa.int64()}), filter_pushdown=False)
    read = source(tmp_path, *script.prelude(script.function(), other))
    assert read.applied([ABOVE]) == [Applied.IGNORED]


@pytest.mark.parametrize(
    ("option", "applied"), [("advisory", Applied.PARTLY), ("off", Applied.IGNORED)]
)
def test_user_limits_what_is_left_to_the_worker(
    tmp_path: Path, option: str, applied: Applied
) -> None:
    read = source(tmp_path, *script.prelude(), filters=option)
    assert read.applied([ABOVE]) == [applied]
    with pytest.raises(RemoteError, match="can no longer be sent"):
        read.tasks(ReadRequest(("n",), required=(ABOVE,)))


def test_optional_filters_that_the_worker_refuses_are_left_out(tmp_path: Path) -> None:
    refuses = script.command(tmp_path, script.error("predicate does not bind"))
    scan = VgiTask("w", refuses, "2.2.0", b"with", fallback=b"without")
    with pytest.raises(RuntimeError, match="starting the scan failed: ValueError: predicate"):
        list(scan.batches())  # it refuses both


# --- splits -----------------------------------------------------------------------------------


def page(*tokens: bytes, cursors: Sequence[bytes] = (), scope: str = "catalog") -> bytes:
    splits = [SPLIT.pack(payload=b"", token=each) for each in tokens]
    planned = PLANNED.pack(
        splits=splits, next_cursors=list(cursors), scope=scope, execution_id=b"e"
    )
    return script.result(planned)


SPLIT_PLANS: list[tuple[Sequence[bytes], int]] = [
    ([page(b"1", b"2")], 2),
    ([page()], 0),
    ([page(b"1", cursors=[b"c", b"d"]), page(b"2"), page(b"3", b"4")], 4),
    ([page(b"")], 1),  # not a split
    ([page(b"1", b"2", scope="transaction")], 1),
]


@pytest.mark.parametrize(("pages", "tasks"), SPLIT_PLANS)
def test_splits_are_tasks(tmp_path: Path, pages: Sequence[bytes], tasks: int) -> None:
    read = source(tmp_path, *script.prelude(script.function(supports_splits=True)), *pages)
    assert len(read.tasks(ReadRequest(("n",)))) == tasks


def test_plan_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_MOST_PAGES", 4)
    pages = [page(b"1", cursors=[b"c"])] * 4
    read = source(tmp_path, *script.prelude(script.function(supports_splits=True)), *pages)
    with pytest.raises(RemoteError, match="the plan has more than 4 pages"):
        read.tasks(ReadRequest(("n",)))


def test_plan_without_optional_filters_follows_a_refusal(tmp_path: Path) -> None:
    function = script.function(supports_splits=True)
    read = source(tmp_path, *script.prelude(function), script.error("no"), page(b"1", b"2"))
    tasks = read.tasks(ReadRequest(("n",), filters=(ABOVE,)))
    assert len(tasks) == 2
    assert not any(b"filter_spec" in each.request for each in tasks if isinstance(each, VgiTask))


# --- statistics -------------------------------------------------------------------------------


def test_statistics_are_empty_if_the_worker_fails(tmp_path: Path) -> None:
    cardinality = script.result(CARDINALITY.pack(estimate=7))
    read = source(tmp_path, *script.prelude(), cardinality, script.result(None))
    statistics = read.statistics(["n"])
    assert (statistics.rows, dict(statistics.columns)) == (7, {})
    for answers in ([script.error("no")], [cardinality, script.result(b"garbage")]):
        read = source(tmp_path, *script.prelude(), *answers)
        assert read.statistics(["n"]).rows is None


def test_arguments_reach_the_worker_as_json(tmp_path: Path) -> None:
    declared = pa.schema([pa.field("count", pa.int64())])
    read = source(
        tmp_path, *script.prelude(script.function(arguments=declared)), arguments=json.dumps([3])
    )
    assert read.schema() == script.COLUMNS


def test_worker_of_tamis_is_read(tmp_path: Path) -> None:
    for start in (0, 100):
        rows = pa.table({"n": pa.array(range(start, start + 100), pa.int64())})
        pq.write_table(rows, tmp_path / f"{start}.parquet")
    worker = [sys.executable, "-m", "tamis", "serve-vgi", f"numbers={tmp_path}"]
    read = VgiSource({"uri": shlex.join(worker), "table": "numbers"})
    above = Compare(Comparison.GREATER, Column(("n",), LONG), Literal(197, LONG))
    assert read.applied([above]) == [Applied.EXACTLY]
    assert read.statistics(["n"]).columns["n"].maximum == pa.scalar(199, pa.int64())
    tasks = read.tasks(ReadRequest(("n",), required=(above,)))
    batches = [batch for each in tasks for batch in each.batches()]
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == [198, 199]

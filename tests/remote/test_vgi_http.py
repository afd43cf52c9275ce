"""VGI over HTTP: the requests, and answers that are wrong in every way."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pytest

from tamis.remote.contract import RemoteError
from tamis.remote.vgi.functions.scan_task import VgiTask
from tamis.remote.vgi.protocol.framing import CALL_STATE, CANCEL, CURSOR, Stream, error_metadata
from tamis.remote.vgi.source import VgiSource
from tests.remote import vgi_script as script

pytestmark = pytest.mark.programs

ARROW = "application/vnd.apache.arrow.stream"
ROWS = pa.record_batch({"n": pa.array([1, 2], pa.int64())})
STATES = {CURSOR: b"Y3Vyc29y", CALL_STATE: b"c3RhdGU="}


@dataclass
class Answer:
    """An answer; `short` announces more bytes than there are."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": ARROW})
    short: bool = False


@dataclass
class Server:
    """Gives one answer after the other; the last one again and again."""

    answers: Sequence[Answer]
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    uri: str = ""

    def metadata(self, number: int) -> dict[bytes, bytes]:
        (part,) = Stream(pa.BufferReader(self.requests[number][2]))
        return dict(part.metadata)


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    server = Server(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = server.answers[min(len(server.requests), len(server.answers) - 1)]
            server.requests.append((self.path, dict(self.headers.items()), body))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body) + answer.short))
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = answer.short

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.uri = f"http://127.0.0.1:{listening.server_port}/prefix/"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


def turn(*parts: pa.RecordBatch | dict[bytes, bytes]) -> bytes:
    """Return the stream of a turn: batches of rows, and batches without rows for metadata."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        for each in parts:
            if isinstance(each, dict):
                writer.write_batch(ROWS.slice(0, 0), custom_metadata=each)
            else:
                writer.write_batch(each)
    return bytes(sink.getvalue().to_pybytes())


def first(*parts: pa.RecordBatch | dict[bytes, bytes]) -> Answer:
    return Answer(script.HEADER + turn(*parts))


def task(server: Server, limit: int | None = None) -> VgiTask:
    return VgiTask("w", server.uri, "2.2.0", b"request", limit=limit, token="secret")


def test_scan_follows_the_cursors() -> None:
    later = {**STATES, CURSOR: b"bGF0ZXI="}
    answers = first(ROWS, STATES), Answer(turn(later)), Answer(turn(ROWS))
    with serving(*answers) as server:
        assert [batch.num_rows for batch in task(server).batches()] == [2, 2]
    paths = [path for path, _, _ in server.requests]
    assert paths == ["/prefix/vgi.v2/init/init", *["/prefix/vgi.v2/init/exchange"] * 2]
    assert server.metadata(1) == STATES
    assert server.metadata(2) == later
    assert {headers["Authorization"] for _, headers, _ in server.requests} == {"Bearer secret"}
    assert server.metadata(0)[b"vgi_rpc.protocol_version"] == b"2.2.0"


def test_limit_cancels_the_scan() -> None:
    with serving(first(ROWS, STATES), Answer(turn())) as server:
        assert [batch.num_rows for batch in task(server, limit=1).batches()] == [2]
    assert server.metadata(1) == {**STATES, CANCEL: b"1"}


def compressed(body: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(body)
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("header", ["Content-Encoding", "X-VGI-Content-Encoding"])
@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_answers_are_decompressed(header: str, encoding: str) -> None:
    plain = first(ROWS)
    body = gzip.compress(plain.body) if encoding == "gzip" else compressed(plain.body)
    with serving(Answer(body, headers={**plain.headers, header: encoding})) as server:
        assert [batch.num_rows for batch in task(server).batches()] == [2]


WRONG: list[tuple[Answer, str]] = [
    (Answer(b"garbage"), "starting the scan failed: no Arrow stream begins here"),
    (Answer(b""), "no Arrow stream begins here"),
    (Answer(script.HEADER), "reading failed: no Arrow stream begins here"),
    (Answer(turn(ROWS)), "the header of the scan is not one row"),
    (first(ROWS, ROWS), "reading failed: a turn has several batches"),
    (first(STATES, ROWS), "reading failed: a batch follows the cursor"),
    (Answer(first(ROWS).body[:-8]), "reading failed: the Arrow stream breaks off"),
    (Answer(first(ROWS).body, short=True), "the answer lacks its last 1 bytes"),
    (first(error_metadata("IOError", "disk")), "reading failed: IOError: disk"),
    (Answer(turn(error_metadata("IOError", "disk"))), "starting the scan failed: IOError: disk"),
    (first({b"vgi_rpc.location": b"https://x"}), "the worker refers to rows at another location"),
    (Answer(b"x", headers={"Content-Type": ARROW, "Content-Encoding": "br"}), "the encoding br"),
    (Answer(b"x", headers={"Content-Type": ARROW, "Content-Encoding": "zstd"}), "starting the"),
    (Answer(b"<html>", 502, {"Content-Type": "text/html"}), "the status 502 Bad Gateway"),
    (Answer(b"[]", 401, {"Content-Type": "application/json"}), "the worker refuses access"),
    (
        Answer(b'{"reason": "expired"}', 403, {"Content-Type": "application/json"}),
        r"the worker refuses access \(expired\)",
    ),
]


@pytest.mark.parametrize(("answer", "says"), WRONG)
def test_wrong_answers_are_errors(answer: Answer, says: str) -> None:
    with serving(answer) as server, pytest.raises(RuntimeError, match=f"w: .*{says}") as failed:
        list(task(server).batches())
    assert "secret" not in str(failed.value)


def test_cursor_without_end_of_rows_is_followed_by_an_error() -> None:
    with (
        serving(first(ROWS, STATES), Answer(b"", 500, {"Content-Type": "text/plain"})) as server,
        pytest.raises(RuntimeError, match="w: reading failed: the answer has the status 500"),
    ):
        list(task(server).batches())


def test_token_does_not_follow_redirections() -> None:
    with serving(Answer(b"")) as other:
        moved = Answer(b"", 307, {"Location": other.uri, "Content-Type": "text/html"})
        with serving(moved) as server, pytest.raises(RemoteError, match="the status 307"):
            VgiSource({"uri": server.uri, "function": "f", "token": "secret"}).schema()
    assert other.requests == []


def test_calls_name_the_protocol_and_the_method() -> None:
    answers = [Answer(each) for each in script.prelude()]
    with serving(*answers) as server:
        read = VgiSource({"uri": server.uri, "function": "numbers"})
        assert read.schema() == script.COLUMNS
    assert [path.removeprefix("/prefix/") for path, _, _ in server.requests] == [
        "vgi_rpc.Reflection.v1/list_protocols",
        "vgi.v2/catalog_catalogs",
        "vgi.v2/catalog_attach",
        "vgi.v2/catalog_schema_contents_functions",
        "vgi.v2/bind",
    ]
    assert all(headers["Content-Type"] == ARROW for _, headers, _ in server.requests)
    assert "Authorization" not in server.requests[0][1]

"""Requests over HTTP.

POST /{protocol}/{method}    a request
POST /vgi.v2/init/init       opens a scan: the header, and the first turn
POST /vgi.v2/init/exchange   a further turn, with the cursor of the turn before
GET, HEAD, OPTIONS /health   what the worker can do; needs no token
"""

from __future__ import annotations

import io
import json
import logging
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tamis._version import __version__
from tamis.publish.vgi.refusals import Refused, error_of
from tamis.publish.vgi.requests.dispatch import (
    TRANSPORT_OPTIONS,
    Answer,
    Dispatcher,
    empty_batch,
    error_body,
    only_request,
)
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.publish.vgi.transports.bodies import BodyRefused, Limits, decoded
from tamis.publish.vgi.transports.cursors import Cursors
from tamis.publish.vgi.transports.tokens import Tokens
from tamis.remote.vgi.protocol import framing
from tamis.remote.vgi.protocol.framing import Part, Stream

__all__ = ["Server"]

_LOG = logging.getLogger(__name__)
_ARROW: Final = "application/vnd.apache.arrow.stream"
_JSON: Final = "application/json"
_CALL_STATE: Final = b"dGFtaXM="  # clients send it back; it says nothing
_IDLE_SECONDS: Final = 300
#: How long a client may go on sending a body that was refused.
_LINGER_SECONDS: Final = 2.0
_DISCARDED_BYTES: Final = 1 << 16
#: What a client may allow for an answer, and what the framing of a batch takes of it at most.
_LEAST_ANSWER: Final = 1 << 16
_FRAMING_BYTES: Final = 1 << 15

_STATUS: Final = {
    "method_not_implemented": 404,
    "protocol_not_supported": 404,
    "protocol_not_specified": 400,
    "protocol_version_mismatch": 400,
    "opaque_data_not_recognized": 400,
}


class Server(ThreadingHTTPServer):
    """Serves a catalog until it is shut down.

    Args:
        address: The host and the port; port 0 chooses a free one.
        dispatcher: Answers the requests.
        tokens: The tokens of callers; without any, everyone may call.
        limits: The sizes that requests may have.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self,
        address: tuple[str, int],
        dispatcher: Dispatcher,
        tokens: Tokens,
        limits: Limits | None = None,
    ) -> None:
        self.dispatcher, self.tokens = dispatcher, tokens
        self.limits = limits or Limits()
        self.cursors = Cursors()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            _LOG.error("a connection has failed", exc_info=error)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = f"tamis/{__version__}"
    sys_version = ""
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path = urlsplit(self.path).path.rstrip("/")
        if path.endswith("/health"):
            self._send(200, b'{"status":"ok"}', _JSON)
        else:
            self._send(404, b'{"error":"not_found"}', _JSON)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_OPTIONS(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        try:
            body = self._body()
            caller = self.server.tokens.caller(self.headers.get("Authorization"))
        except BodyRefused as problem:
            # The body was not read, so the next request cannot be found.
            self.close_connection = True
            code = "RESOURCE_EXHAUSTED" if problem.status == 413 else "INVALID_ARGUMENT"
            self._send(problem.status, error_body(Refused(str(problem), code)))
            self._discard_input()
            return
        if caller is None:
            self._send_unauthorized()
            return
        answer = self._answer(body, caller)
        headers = {} if answer.problem is None else {"X-VGI-RPC-Error": "true"}
        self._send(_STATUS.get(answer.kind, 200), answer.body, headers=headers)

    def _discard_input(self) -> None:
        """Discard what the client still sends, so that it can read the answer.

        Closing a socket with unread bytes resets the connection, and the client loses the
        answer.
        """
        end = monotonic() + _LINGER_SECONDS
        with suppress(OSError):  # the client has gone, or sends for longer than that
            self.connection.shutdown(socket.SHUT_WR)
            while (left := end - monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(_DISCARDED_BYTES):
                    return

    def _send_unauthorized(self) -> None:
        has_token = bool(self.headers.get("Authorization"))
        reason = "invalid_credential" if has_token else "missing_credential"
        detail = "the bearer token is wrong" if has_token else "pass a bearer token"
        refusal = {"error": "unauthorized", "reason": reason, "detail": detail}
        headers = {"VGI-Auth-Reason": reason, "WWW-Authenticate": "Bearer"}
        self._send(401, json.dumps(refusal).encode(), _JSON, headers)

    def _body(self) -> bytes:
        limits = self.server.limits
        body = self.rfile.read(limits.length(self.headers.get("Content-Length")))
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != _ARROW:
            raise BodyRefused(415, f"the content type is not {_ARROW}")
        return decoded(body, self.headers.get("Content-Encoding"), limits)

    def _answer(self, body: bytes, caller: str) -> Answer:
        try:
            request = only_request(list(Stream(io.BytesIO(body))))
            *_, protocol, method = [
                "",
                "",
                *unquote(urlsplit(self.path).path).strip("/").split("/"),
            ]
            if (protocol, method) == ("init", "exchange"):
                return self._exchange(request, caller)
            if (protocol, method) == ("init", "init"):
                protocol, method = framing.APPLICATION, "init"
            self._check_path(request, protocol, method)
            answer = self.server.dispatcher.answer(request)
            if answer.scan is None:
                return answer
            return Answer(answer.body + self._first(answer.scan, caller))
        except Exception as problem:  # the caller gets an answer in any case
            return Answer(error_body(problem), problem=problem)

    def _check_path(self, request: Part, protocol: str, method: str) -> None:
        """Raise Refused if the path and the metadata name different methods."""
        named = request.metadata.get(framing.METHOD, b"").decode(errors="replace")
        owner = request.metadata.get(framing.PROTOCOL, b"").decode(errors="replace")
        if TRANSPORT_OPTIONS in (method, named):
            return
        if (owner, named) != (protocol, method):
            raise Refused(
                "the path and the metadata name different methods", kind="protocol_not_specified"
            )

    def _first(self, scan: Scan, caller: str) -> bytes:
        return self.server.cursors.begin(
            scan, caller, lambda opened, cursor: self._turn(opened, {}, cursor)
        )

    def _exchange(self, request: Part, caller: str) -> Answer:
        cursor = request.metadata.get(framing.CURSOR)
        if cursor is None:
            raise Refused("the request has no cursor", kind="opaque_data_not_recognized")
        return Answer(
            self.server.cursors.resume(
                cursor,
                caller,
                lambda scan, following: self._turn(scan, request.metadata, following),
            )
        )

    def _turn(self, scan: Scan, metadata: Mapping[bytes, bytes], cursor: bytes) -> bytes:
        """Return the stream of one turn: a batch and the next cursor, an error, or nothing."""
        body = io.BytesIO()
        with pa.ipc.new_stream(body, scan.schema) as writer:
            try:
                batch = scan.next(metadata, self._most_bytes())
            except Exception as problem:
                scan.close()
                writer.write_batch(
                    empty_batch(scan.schema), custom_metadata=dict(error_of(problem))
                )
            else:
                if batch is not None:
                    state = {framing.CURSOR: cursor, framing.CALL_STATE: _CALL_STATE}
                    writer.write_batch(batch)
                    writer.write_batch(empty_batch(scan.schema), custom_metadata=state)
        return body.getvalue()

    def _most_bytes(self) -> int | None:
        """Return how many bytes a batch may have."""
        allowed = self.headers.get("VGI-Accept-Max-Response-Bytes", "")
        if not (allowed.isascii() and allowed.isdecimal()):
            return None
        return max(int(allowed[:18]), _LEAST_ANSWER) - _FRAMING_BYTES

    def _send(
        self,
        status: int,
        body: bytes,
        content: str = _ARROW,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("VGI-Accept-Max-Response-Bytes-Support", "true")
        self.send_header("VGI-Externalization-Enabled", "false")
        self.send_header("VGI-Supported-Encodings", "zstd, gzip")
        self.send_header("VGI-Max-Request-Bytes", str(self.server.limits.decoded))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        _LOG.debug(format, *args)

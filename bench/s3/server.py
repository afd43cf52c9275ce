"""`python -m bench.s3.server FILE`: serve S3 from memory (moto), and record every request.

Writes its port to FILE when it is ready. Under `/-/` it takes commands from `bench.s3.store`: the
requests since the last command, and the faults with which further requests are answered.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

__all__ = ["Recorder"]

#: What a fault may select requests by.
_MATCHED = ("agent", "path", "credential")

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_ERROR = "<Error><Code>{code}</Code><Message>{code}</Message></Error>"
_CODES = {403: ("Forbidden", "InvalidAccessKeyId"), 503: ("Slow Down", "SlowDown")}


class Recorder:
    """An application that passes requests on to another one, unless a fault matches.

    A fault is a mapping: `agent`, `path` and `credential` are texts that the user agent, the path
    and the credential of the signature contain, `status` is the answer (0: none, until the fault is
    removed), and `times` limits how often it occurs.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._requests: list[dict[str, Any]] = []
        self._faults: list[dict[str, Any]] = []
        self._removed = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        # the path as it was sent: that of WSGI is decoded
        path = unquote(urlsplit(environ.get("RAW_URI", environ["PATH_INFO"])).path)
        if path.startswith("/-/"):
            return self._commanded(path.removeprefix("/-/"), environ, start)
        with self._lock:
            request = {
                "method": environ["REQUEST_METHOD"],
                "path": path,
                "query": environ.get("QUERY_STRING", ""),
                "agent": environ.get("HTTP_USER_AGENT", ""),
                "range": environ.get("HTTP_RANGE", ""),
                "credential": environ.get("HTTP_AUTHORIZATION", ""),
            }
            self._requests.append(request)
            fault = next(self._matching(request), None)
            removed = self._removed
            if fault is not None and "times" in fault:
                fault["times"] -= 1
        if fault is None:
            return self._application(environ, start)
        if fault["status"] == 0:
            request["hangs"] = True
            removed.wait()
            request["hangs"] = False
            return self._application(environ, start)
        reason, code = _CODES[fault["status"]]
        start(f"{fault['status']} {reason}", [("Content-Type", "application/xml")])
        return [_ERROR.format(code=code).encode()]

    def _matching(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for fault in self._faults:
            is_due = fault.get("times", 1) > 0
            if is_due and all(fault.get(each, "") in request[each] for each in _MATCHED):
                yield fault

    def _commanded(
        self, command: str, environ: dict[str, Any], start: Callable[..., Any]
    ) -> Iterable[bytes]:
        content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        with self._lock:
            answer: object = None
            if command == "requests":
                answer, self._requests = self._requests, []
            elif command == "hanging":
                answer = sum(bool(each.get("hangs")) for each in self._requests)
            elif command == "faults":
                self._faults = json.loads(content)
                self._removed.set()
                self._removed = threading.Event()
        start("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]


class _Handler(MotoRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        pass


def _end_with_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    application = Recorder(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Handler)
    file = Path(sys.argv[1])
    draft = file.with_suffix(".part")
    draft.write_text(str(server.server_port))
    draft.rename(file)
    server.serve_forever()


if __name__ == "__main__":
    main()

"""The command serve-vgi: a worker on standard input and output, or over HTTP."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tamis.publish.errors import PublishError
from tamis.publish.tables import PublishedTable
from tamis.publish.vgi.catalog import Catalog, PublishedRows
from tamis.publish.vgi.functions.echo_function import FilterEcho
from tamis.publish.vgi.functions.files_function import Files
from tamis.publish.vgi.functions.scan_function import ScanTable
from tamis.publish.vgi.functions.table_function import TableFunction
from tamis.publish.vgi.requests.dispatch import Dispatcher
from tamis.publish.vgi.transports.http import Server
from tamis.publish.vgi.transports.stdio import serve
from tamis.publish.vgi.transports.tokens import Tokens

__all__ = ["catalog_of", "serve_http", "serve_stdio"]


def catalog_of(name: str, paths: Mapping[str, str]) -> Catalog:
    """Return the catalog of a worker.

    Args:
        name: The name of the catalog.
        paths: The path of each table, by its name.

    Raises:
        PublishError: A table cannot be read.
    """
    tables = {each: PublishedTable(path) for each, path in paths.items()}
    for table in tables.values():
        table.current()
    scan = ScanTable(tables)
    functions: list[TableFunction] = [scan, Files(tables), FilterEcho()]
    published = {each: PublishedRows(each, scan, (each,)) for each in tables}
    return Catalog(name, {each.name: each for each in functions}, published)


def serve_stdio(catalog: Catalog) -> bool:
    """Answer requests on standard input until it ends. Return whether all were well-formed."""
    _log_to_stderr()
    # Whatever else writes to standard output must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    with requests, answers:
        return serve(Dispatcher(catalog), requests, answers)


def serve_http(catalog: Catalog, host: str, port: int, token_file: Path | None) -> None:
    """Serve over HTTP until the process is interrupted or terminated.

    Prints `PORT:<number>` to standard output when the server is ready.

    Raises:
        PublishError: The token file cannot be read, or the address cannot be used.
    """
    _log_to_stderr()
    tokens = Tokens() if token_file is None else Tokens.read(token_file)
    try:
        server = Server((host, port), Dispatcher(catalog), tokens)
    except OSError as error:
        raise PublishError(
            f"cannot listen on {host}:{port} ({error.strerror}): pass another --host or --port"
        ) from error
    signal.signal(signal.SIGTERM, lambda *_: _stop(server))
    with server:
        print(f"PORT:{server.server_address[1]}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _stop(server: Server) -> None:
    # shutdown() waits for the loop of this thread.
    threading.Thread(target=server.shutdown).start()


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tamis: %(message)s")

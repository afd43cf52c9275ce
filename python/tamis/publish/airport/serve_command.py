"""`python -m tamis serve-airport`: serve tables until the process is interrupted."""

from __future__ import annotations

import ipaddress
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import typer

from tamis.publish.airport.access import Access
from tamis.publish.airport.server import AirportServer
from tamis.publish.errors import PublishError
from tamis.publish.named_paths import named_paths
from tamis.publish.tables import PublishedTable

__all__ = ["access_of", "serve", "tables_of"]

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_SECONDS: Final = 10  # for requests that run when the server is stopped


def tables_of(texts: Sequence[str]) -> dict[str, PublishedTable]:
    """Return the tables of NAME=PATH arguments.

    Raises:
        PublishError: An argument is malformed, or a table cannot be published.
    """
    paths = named_paths(texts)
    tables = {name: PublishedTable(path, name) for name, path in paths.items()}
    for name, table in tables.items():
        try:
            table.current()
        except PublishError as problem:
            raise PublishError(f"{name}={paths[name]}: {problem}") from problem
    return tables


def access_of(
    token_file: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> Access:
    """Read the token and the TLS files.

    Raises:
        PublishError: A file cannot be read, the token is empty, or one of the paths is missing.
    """
    if (certificate is None) != (key is None):
        raise PublishError("TLS needs both --certificate and --key: pass the other option as well")
    token = None
    if token_file is not None:
        token = _content(token_file).decode(errors="replace").strip()
        if not token:
            raise PublishError(
                f"the token file {token_file} is empty: write the bearer token into it"
            )
    return Access(
        token,
        None if certificate is None else _content(certificate),
        None if key is None else _content(key),
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise PublishError(
            f"the file {path} cannot be read ({problem.strerror}): check its path and permissions"
        ) from problem


def serve(
    tables: Mapping[str, PublishedTable],
    *,
    host: str,
    port: int,
    schema: str,
    access: Access,
    with_locations: bool,
) -> None:
    """Serve tables until SIGINT or SIGTERM. Print the location when clients can connect.

    Raises:
        PublishError: The server cannot listen.
    """
    scheme = "grpc" if access.certificate is None else "grpc+tls"
    shown = f"[{host}]" if ":" in host else host
    # Threads inherit the mask, so that the signals arrive at sigwait in this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        server = AirportServer(
            f"{scheme}://{shown}:{port}", tables, schema, access, with_locations=with_locations
        )
    except (OSError, pa.ArrowException) as problem:
        raise PublishError(
            f"cannot listen on {shown}:{port} ({problem}): pass another --host or --port"
        ) from problem
    threading.Thread(target=server.serve, daemon=True).start()
    if access.token is None and not _is_loopback(host):
        typer.echo(
            f"tamis: every client that can reach {host} can read the tables. Pass --token-file to "
            "require a token.",
            err=True,
        )
    typer.echo(f"{scheme}://{shown}:{server.port}")
    signal.sigwait(_STOPPING)
    # waits for running requests
    last = threading.Thread(target=server.shutdown, daemon=True)
    last.start()
    last.join(_SECONDS)
    if last.is_alive():
        with suppress(OSError):
            os.write(2, b"tamis: stopped, although requests were still running\n")
        os._exit(0)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

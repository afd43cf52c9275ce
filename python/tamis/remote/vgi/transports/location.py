"""The location of a worker: a command line, or the URL of a server. Runs on executors too."""

from __future__ import annotations

import re
import shlex

from tamis.remote.vgi.transports.connection import Connection, ConnectionFailed
from tamis.remote.vgi.transports.http_connection import HttpConnection
from tamis.remote.vgi.transports.pipe_connection import PipeConnection

__all__ = ["connected", "is_url"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|launch:")


def is_url(location: str) -> bool:
    """Return whether the worker is a server."""
    return location.lower().startswith(("http://", "https://"))


def connected(location: str, token: str | None) -> Connection:
    """Return a connection to a worker. A command is started, without a shell.

    Raises:
        ConnectionFailed: The location is malformed, or the program cannot be started.
    """
    if is_url(location):
        return HttpConnection(location, token)
    if _SCHEME.match(location):
        kind = location.partition(":")[0]
        raise ConnectionFailed(
            f"{kind} is not supported", "Use http://, https:// or a command as the option uri"
        )
    if token:
        raise ConnectionFailed("the option token is for http:// and https:// only")
    try:
        command = shlex.split(location)
    except ValueError as error:
        raise ConnectionFailed(f"the option uri is not a command ({error})") from error
    if not command:
        raise ConnectionFailed("the option uri is empty")
    return PipeConnection(command)

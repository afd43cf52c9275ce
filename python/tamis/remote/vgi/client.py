"""Calls of a worker on the driver, with errors that name the worker, the function and the step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeVar
from weakref import finalize

import pyarrow as pa

from tamis.remote.contract import RemoteError
from tamis.remote.masking import masked
from tamis.remote.vgi.protocol.framing import (
    READ_FAILURES,
    REFLECTION,
    CallFailed,
    MalformedMessage,
    protocol_of,
)
from tamis.remote.vgi.protocol.methods import NOTHING
from tamis.remote.vgi.protocol.record import row_of
from tamis.remote.vgi.protocol.records import PROTOCOLS
from tamis.remote.vgi.protocol.version_1 import request_row
from tamis.remote.vgi.transports.connection import Connection, ConnectionFailed, one_line
from tamis.remote.vgi.transports.location import connected

__all__ = ["Client", "Refused"]

_Answer = TypeVar("_Answer")
_APPLICATION: Final = re.compile(r"vgi\.v\d+")
_SPOKEN: Final = re.compile(r"(1\.[0-5]|2\.[0-2])\.\d+")
#: The newest of versions 2 and of versions 1.
_NEWEST: Final = "2.2.0"
_NEWEST_FIRST: Final = "1.5.0"
_VERSION_OF_SERVER: Final = re.compile(r"Server: (\d+\.\d+\.\d+)")
_SHOWN: Final = 80


class Refused(RemoteError):
    """The worker reports an error. `kind` is the kind of a protocol error, or empty."""

    def __init__(self, server: str, table: str, step: str, failure: CallFailed) -> None:
        super().__init__(server, table, step, one_line(failure))
        self.kind = failure.kind


class Client:
    """A worker, and the function or table of it that is read.

    The connection is opened by the first call, and lasts as long as the client.

    Args:
        location: A command, or the URL of a server.
        token: A bearer token. Messages never contain it.
        target: What is read, for errors, such as `main.orders`.
    """

    def __init__(self, location: str, token: str | None, target: str) -> None:
        self.location, self.target = location, target
        self._token = token
        self._open: Connection | None = None
        self._close: Callable[[], object] = lambda: None

    @property
    def token(self) -> str | None:
        return self._token

    @property
    def server(self) -> str:
        """How errors name the worker."""
        shown = masked(one_line(self.location)) or "(no uri)"
        return f"the VGI worker {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}"

    @property
    def label(self) -> str:
        """What is read, and the worker, as messages name them."""
        return f"the table {self.target} of {self.server}"

    def ask(
        self, method: str, values: Mapping[str, Any], read: Callable[[bytes], _Answer]
    ) -> _Answer:
        """Call a method, and return what `read` makes of its result.

        Raises:
            Refused: The worker reports an error.
            RemoteError: The worker cannot be reached, or its answer is malformed or NULL.
        """
        answer = self.ask_optional(method, values, read)
        if answer is None:
            raise self.error(method, "the answer is NULL")
        return answer

    def ask_optional(
        self, method: str, values: Mapping[str, Any], read: Callable[[bytes], _Answer]
    ) -> _Answer | None:
        """Do the same as `ask`, for a method whose result may be NULL."""
        version = self.version
        with self._errors(method):
            body = self._call(method, values, version)
            return None if body is None else read(body)

    def parsed(self, step: str, body: bytes, read: Callable[[bytes], _Answer]) -> _Answer:
        """Return what `read` makes of a part of an earlier answer.

        Raises:
            RemoteError: The part is malformed.
        """
        with self._errors(step):
            return read(body)

    @cached_property
    def version(self) -> str:
        """The version of the protocol that the worker speaks.

        Raises:
            RemoteError: It is not one of 1.0 to 1.5 and 2.0 to 2.2.
        """
        version = self._reported() or self._probed()
        if not _SPOKEN.fullmatch(version):
            raise self.error(
                "agreeing on a version",
                f"the worker speaks VGI {one_line(version)}, but tamis supports 1.0 to 1.5 and "
                "2.0 to 2.2",
                "Use a worker that speaks one of these versions",
            )
        return version

    def _reported(self) -> str | None:
        """Return the version that the worker lists; None if it lists none."""
        with self._errors("list_protocols"):
            try:
                answer = self._exchange("list_protocols", row_of(NOTHING, {}), None, REFLECTION)
            except CallFailed:
                return None
            except ConnectionFailed as error:
                if not error.is_absent:
                    raise
                return None
            if answer is None:
                return None
            listed = PROTOCOLS.unpack(answer, ["protocols"])["protocols"]
            versions = {
                each["protocol"]: each["protocol_version"]
                for each in listed
                if each and _APPLICATION.fullmatch(each["protocol"] or "")
            }
            spoken = versions.get("vgi.v2") or next(iter(versions.values()), None)
            return None if spoken is None else str(spoken)

    def _probed(self) -> str:
        """Return the version that the worker accepts, or that it names in its refusal."""
        with self._errors("catalog_catalogs"):
            try:
                return self._accepted(_NEWEST)
            except ConnectionFailed as error:
                if not error.is_absent:
                    raise
                # A server of version 1 has its methods at other paths.
                try:
                    return self._accepted(_NEWEST_FIRST)
                except (CallFailed, ConnectionFailed) as second:
                    raise error from second

    def _accepted(self, version: str) -> str:
        """Return the version if the worker accepts it, or the one that it names."""
        try:
            self._call("catalog_catalogs", {}, version)
        except CallFailed as failure:
            named = _VERSION_OF_SERVER.search(failure.message)
            if named is None:
                raise
            return named[1]
        return version

    def _call(self, method: str, values: Mapping[str, Any], version: str) -> bytes | None:
        parameters = request_row(method, values, version)
        return self._exchange(method, parameters, version, protocol_of(version))

    def _exchange(
        self,
        method: str,
        parameters: pa.RecordBatch,
        version: str | None,
        protocol: str,
    ) -> bytes | None:
        try:
            return self._connection().call(method, parameters, version, protocol)
        except CallFailed as failure:
            if failure.kind:  # the worker may not have read the whole request
                self._end()
            raise

    def _connection(self) -> Connection:
        if self._open is None:
            self._open = connected(self.location, self._token)
            self._close = finalize(self, self._open.close)
        return self._open

    def error(self, step: str, problem: object, fix: str = "") -> RemoteError:
        """Return the error that a step has failed."""
        return RemoteError(self.server, self.target, step, problem, fix)

    @contextmanager
    def _errors(self, step: str) -> Iterator[None]:
        try:
            yield
        except CallFailed as failure:
            raise Refused(self.server, self.target, step, failure) from failure
        except ConnectionFailed as error:
            self._end()
            raise self.error(step, error, error.fix) from error
        except MalformedMessage as error:
            self._end()
            raise self.error(step, one_line(error)) from error
        except READ_FAILURES as error:
            self._end()
            raise self.error(step, f"the answer is malformed ({one_line(error)})") from error

    def _end(self) -> None:
        """Close the connection; the next call opens another one."""
        self._close()
        self._open = None

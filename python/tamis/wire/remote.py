"""The messages about remote tables between the shim and Python."""

from __future__ import annotations

from typing import Any

import msgspec

from tamis.wire.messages import VERSION, read_versioned

__all__ = [
    "RemoteAnswer",
    "RemoteColumn",
    "RemoteRequest",
    "RemoteTasks",
    "RemoteTasksRequest",
    "read_remote_request",
    "read_tasks_request",
]


class RemoteRequest(msgspec.Struct, frozen=True):
    """A request for how a remote source applies filters, and for what its server knows.

    - `format`: the name of the data source, such as `tamis.airport`.
    - `options`: its options. They may contain a token.
    - `conjuncts`: the filters, as expression documents.
    - `columns`: the columns whose statistics are requested, beside those of the filters.
    - `seconds`: the time after which the shim no longer waits.
    - `storage`: the Hadoop settings `fs.*` of the session. They may contain keys.
    """

    version: int
    id: str
    format: str
    options: dict[str, str]
    seconds: float
    conjuncts: list[Any] = []
    columns: list[str] = []
    storage: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"RemoteRequest({self.id!r}, {self.format!r})"


class RemoteColumn(msgspec.Struct, frozen=True):
    """Statistics of a column. The bounds are constants of expression documents; null: unknown."""

    minimum: bool | int | float | str | None = None
    maximum: bool | int | float | str | None = None
    distinct: int | None = None


class RemoteAnswer(msgspec.Struct, frozen=True):
    """The answer to a RemoteRequest.

    - `label`: the table and the server, for messages.
    - `applied`: how the source applies each conjunct: `exactly`, `partly` or `ignored`.
    - `is_empty`: statistics prove that no row passes all conjuncts.
    - `files`: the Parquet files that hold the rows, if Spark reads them itself.
    - `rows`: an estimate of the number of rows of the table.
    - `columns`: statistics by the name of the column, for the optimizer.
    - `problem`: why the source could not be asked. Then nothing is known of it.
    """

    id: str
    label: str = ""
    applied: list[str] = []
    is_empty: bool = False
    files: list[str] | None = None
    rows: int | None = None
    columns: dict[str, RemoteColumn] = {}
    problem: str | None = None
    version: int = VERSION


class RemoteTasksRequest(msgspec.Struct, frozen=True):
    """A request for the tasks of a scan.

    - `format`: the name of the data source.
    - `options`: its options, and those of the query (`tamis.remote.planning`). They may contain a
      token.
    - `columns`: the columns to read, as the JSON form of Spark's StructType.
    - `seconds`: the time after which the shim no longer waits; null: it waits.
    """

    version: int
    id: str
    format: str
    options: dict[str, str]
    columns: str
    seconds: float | None = None

    def __repr__(self) -> str:
        return f"RemoteTasksRequest({self.id!r}, {self.format!r})"


class RemoteTasks(msgspec.Struct, frozen=True):
    """The answer to a RemoteTasksRequest.

    - `program`: the source text of the Python program that reads tasks (`tamis.remote.program`).
    - `reader`: the pickled reader, in base64.
    - `tasks`: the pickled tasks, in base64.
    - `problem`: why the table cannot be read.
    - `is_late`: there was no answer within `seconds`.
    """

    id: str
    program: str = ""
    reader: bytes = b""
    tasks: list[bytes] = []
    problem: str | None = None
    is_late: bool = False
    version: int = VERSION

    def __repr__(self) -> str:
        return f"RemoteTasks({self.id!r}, {len(self.tasks)} tasks)"


_request = msgspec.json.Decoder(RemoteRequest)
_tasks_request = msgspec.json.Decoder(RemoteTasksRequest)


def read_remote_request(text: str | bytes) -> RemoteRequest:
    """Read a RemoteRequest. Raises as read_versioned does."""
    return read_versioned(_request, text)


def read_tasks_request(text: str | bytes) -> RemoteTasksRequest:
    """Read a RemoteTasksRequest. Raises as read_versioned does."""
    return read_versioned(_tasks_request, text)

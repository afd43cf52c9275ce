"""The messages about remote tables between the shim and Python."""

from __future__ import annotations

from typing import Any

import msgspec

from tamis.wire.messages import VERSION, read_versioned

__all__ = ["RemoteAnswer", "RemoteColumn", "RemoteRequest", "read_remote_request"]


class RemoteRequest(msgspec.Struct, frozen=True):
    """A request for how a remote source applies filters, and for what its server knows.

    - `format`: the name of the data source, such as `tamis.airport`.
    - `options`: its options. They may contain a token.
    - `conjuncts`: the filters, as expression documents.
    - `columns`: the columns whose statistics are requested, beside those of the filters.
    - `seconds`: the time after which the shim no longer waits.
    """

    version: int
    id: str
    format: str
    options: dict[str, str]
    seconds: float
    conjuncts: list[Any] = []
    columns: list[str] = []

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


_request = msgspec.json.Decoder(RemoteRequest)


def read_remote_request(text: str | bytes) -> RemoteRequest:
    """Read a RemoteRequest. Raises as read_versioned does."""
    return read_versioned(_request, text)

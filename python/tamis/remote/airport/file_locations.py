"""Tables whose endpoints refer to Parquet files, which Spark reads itself.

The location of an endpoint is then a `data:` URI in base64, with a msgpack map, of one of two media
types:

    application/msgpack                        {format: "parquet", uri}
    application/x-msgpack-duckdb-function-call {function_name: "read_parquet", data}

`data` is an Arrow stream of one row with the arguments of DuckDB's function: `arg_0` is a URI or a
list of URIs. `union_by_name` makes no difference, because Spark reads columns by name.

tamis reads all columns from the file. By default, DuckDB reads a column `day` from a folder
`day=5`, so such files are refused unless the function has the argument `hive_partitioning=false`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.flight as flight

from tamis.remote.airport.messages import MalformedAnswer, Message, unpacked

__all__ = ["file_uris", "is_file_location", "spark_uri"]

_DOCUMENT: Final = "data:application/msgpack;base64,"
_CALL: Final = "data:application/x-msgpack-duckdb-function-call;base64,"
_FUNCTIONS: Final = frozenset({"read_parquet", "parquet_scan"})
_IGNORED: Final = frozenset({"union_by_name"})
_OFF: Final = frozenset({"hive_partitioning", "filename", "file_row_number"})
#: Schemes that Hadoop names differently, and those that it shares.
_SCHEMES: Final = {"s3": "s3a", "gcs": "gs"} | {
    name: name for name in ("file", "s3a", "gs", "abfs", "abfss", "hdfs")
}


def is_file_location(location: str) -> bool:
    """Return whether a location refers to files."""
    return location.startswith("data:")


def file_uris(
    endpoints: Iterable[flight.FlightEndpoint], columns: Collection[str]
) -> list[str] | None:
    """Return the files that hold the rows of all endpoints, as the server names them.

    Args:
        endpoints: What the server answers.
        columns: The columns of the table.

    Returns:
        The URIs; None if an endpoint has another location, or there is none.

    Raises:
        MalformedAnswer: A location has another form than above.
    """
    uris: list[str] = []
    is_any = False
    for endpoint in endpoints:
        is_any = True
        location = endpoint.locations[0].uri.decode() if endpoint.locations else ""
        if not is_file_location(location):
            return None
        uris.extend(_uris(location, {name.lower() for name in columns}))
    return uris if is_any else None


def spark_uri(uri: str) -> str:
    """Return a URI as Hadoop spells it.

    Raises:
        MalformedAnswer: Spark cannot read from such a URI.

    >>> spark_uri("s3://bucket/a.parquet"), spark_uri("/data/a b.parquet")
    ('s3a://bucket/a.parquet', '/data/a b.parquet')
    """
    if uri.startswith("/"):
        return uri
    scheme = urlsplit(uri).scheme
    if scheme not in _SCHEMES:
        raise MalformedAnswer(
            f"the server refers to a file with the scheme {scheme or uri[:60]}, which Spark cannot "
            "read"
        )
    return _SCHEMES[scheme] + uri[len(scheme) :]


def _uris(location: str, columns: Collection[str]) -> list[str]:
    if location.startswith(_DOCUMENT):
        document = _message(location.removeprefix(_DOCUMENT))
        if document.text("format") != "parquet":
            raise MalformedAnswer(
                f"the server refers to files of the format {document.text('format')[:60]}, "
                "but tamis reads only Parquet"
            )
        return _outside_partitions([document.text("uri")], columns)
    if not location.startswith(_CALL):
        raise MalformedAnswer(
            f"tamis cannot read from the location {location.partition(',')[0][:60]}"
        )
    call = _message(location.removeprefix(_CALL))
    function = call.text("function_name")
    if function not in _FUNCTIONS:
        raise MalformedAnswer(
            f"the server refers to DuckDB's function {function[:60]}, which tamis does not support"
        )
    return _files_of_call(call.binary("data"), columns)


def _files_of_call(data: bytes, columns: Collection[str]) -> list[str]:
    try:
        with pa.ipc.open_stream(data) as stream:
            (row,) = stream.read_all().to_pylist()
    except (pa.ArrowException, ValueError) as error:
        raise MalformedAnswer("the arguments of the function are malformed") from error
    files = row.pop("arg_0", None)
    reads_folders = row.get("hive_partitioning") is not False
    unknown = {name for name, value in row.items() if not (name in _OFF and value is False)}
    if unknown - _IGNORED:
        raise MalformedAnswer(
            f"the function has the argument {min(unknown - _IGNORED)[:60]}, which tamis does not "
            "support"
        )
    listed = [files] if isinstance(files, str) else files
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise MalformedAnswer("the function names no files")
    if any(set(each) & set("*?[") for each in listed):
        raise MalformedAnswer(
            "the function names files by a glob pattern, which tamis does not expand"
        )
    return _outside_partitions(listed, columns) if reads_folders else listed


def _outside_partitions(uris: list[str], columns: Collection[str]) -> list[str]:
    """Return the URIs, if no folder is named after a column."""
    for uri in uris:
        for folder in uri.split("/")[:-1]:
            name, equals, _ = folder.partition("=")
            if equals and name.lower() in columns:
                raise MalformedAnswer(
                    f"the server refers to a file in the folder {folder[:60]}, from which DuckDB "
                    f"reads the column {name[:60]}; tamis reads columns only from files, so the "
                    "server must pass hive_partitioning=false"
                )
    return uris


def _message(text: str) -> Message:
    try:
        return Message(unpacked(base64.b64decode(text, validate=True), "a location"), "a location")
    except binascii.Error as error:
        raise MalformedAnswer("a location is not base64") from error

"""Workers that send prepared answers, whatever the requests are.

The worker is `cat`, so its answers can be as wrong as bytes can be.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import EMPTY, error_metadata, stream_bytes
from tamis.remote.vgi.protocol.methods import RESULT
from tamis.remote.vgi.protocol.record import row_of
from tamis.remote.vgi.protocol.records import (
    BOUND,
    CATALOG_ATTACHED,
    CATALOG_INFO,
    FUNCTION_INFO,
    ITEMS,
    PROTOCOLS,
    SCAN_HEADER,
)

SEMANTICS = "vgi.duckdb.standard.v1"
COLUMNS = pa.schema({"n": pa.int64(), "s": pa.string()})
HEADER = stream_bytes(row_of(SCAN_HEADER.schema, {"execution_id": b"", "max_workers": 1}))


#: The worker closes its output, and reads on.
QUIET = "exec > /dev/null; cat"
NO_ARGUMENTS = pa.schema([])


def command(folder: Path, *answers: bytes, end: str = QUIET) -> str:
    """Return the command of a worker that sends these answers, and then does what `end` says."""
    file = folder / "answers.bin"
    file.write_bytes(b"".join(answers))
    return shlex.join(["/bin/sh", "-c", f"cat {shlex.quote(str(file))}; {end}"])


def result(body: bytes | None) -> bytes:
    """Return the answer of a method with one result."""
    batch = pa.record_batch(
        [pa.array([body], pa.binary())], schema=pa.schema([RESULT.field(0).with_nullable(True)])
    )
    return stream_bytes(batch)


def error(text: str, kind: str = "", code: str = "UNKNOWN") -> bytes:
    """Return the answer of a method that fails."""
    return stream_bytes(EMPTY, error_metadata("ValueError", text, code, kind))


def protocols(version: str = "2.2.0", name: str = "vgi.v2") -> bytes:
    listed = {
        "protocol": name,
        "protocol_version": version,
        "protocol_hash": "",
        "deprecated": False,
        "deprecation_message": "",
        "features": [],
    }
    return result(
        PROTOCOLS.pack(server_id="", server_version="", request_version="1", protocols=[listed])
    )


def items(*bodies: bytes) -> bytes:
    return result(ITEMS.pack(items=list(bodies)))


def catalog(name: str = "example") -> bytes:
    return CATALOG_INFO.pack(name=name)


def attached() -> bytes:
    return result(
        CATALOG_ATTACHED.pack(
            attach_opaque_data=b"key",
            catalog_version=1,
            default_schema="main",
            global_function_prefix="",
        )
    )


def function(name: str = "numbers", arguments: pa.Schema = NO_ARGUMENTS, **more: Any) -> bytes:
    """Return a table function that supports everything except splits."""
    defaults = {
        "function_type": "TABLE",
        "projection_pushdown": True,
        "filter_pushdown": True,
        "filter_semantic_profiles": [SEMANTICS],
        "partition_kind": "NOT_PARTITIONED",
        "order_dependent": "NOT_ORDER_DEPENDENT",
        "distinct_dependent": "NOT_DISTINCT_DEPENDENT",
    }  # fmt: skip
    return FUNCTION_INFO.pack(
        name=name,
        schema_path=["main"],
        arguments=arguments.serialize().to_pybytes(),
        output_schema=b"",
        description="",
        **(defaults | more),
    )


def bound(columns: pa.Schema = COLUMNS, **more: Any) -> bytes:
    return result(BOUND.pack(output_schema=columns.serialize().to_pybytes(), **more))


def batches(schema: pa.Schema, *rows: pa.RecordBatch, closed: bool = True) -> bytes:
    """Return the output stream of a scan."""
    sink = pa.BufferOutputStream()
    writer = pa.ipc.new_stream(sink, schema)
    for each in rows:
        writer.write_batch(each)
    if closed:
        writer.close()
    return bytes(sink.getvalue().to_pybytes())


def prelude(*functions: bytes, columns: pa.Schema = COLUMNS) -> Sequence[bytes]:
    """Return the answers up to a bound function."""
    return [
        protocols(),
        items(catalog()),
        attached(),
        items(*(functions or [function()])),
        bound(columns),
    ]

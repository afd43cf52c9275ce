"""Filter batches of VGI, written as tests need them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

METADATA = {
    "vgi_filter_encoding": "vgi.filters.v2",
    "vgi_filter_version": "2",
    "vgi_evaluation_context": "vgi.none.v1",
}
Node = dict[str, Any]


def column(index: int, name: str) -> Node:
    return {"node": "column_ref", "column_index": index, "column_name": name}


def literal(reference: int) -> Node:
    return {"node": "literal", "value_ref": reference}


def comparison(op: str, left: Node, right: Node) -> Node:
    return {"node": "comparison", "op": op, "left": left, "right": right}


def is_null(expression: Node, negated: bool = False) -> Node:
    return {"node": "is_null", "expression": expression, "negated": negated}


def predicate(
    expression: Any, name: str = "query:0", mode: str = "required", **changes: Any
) -> Node:
    entry = {"id": name, "revision": 0, "mode": mode, "source": "query", "expression": expression}
    return {**entry, **changes}


def upsert(expression: Node, name: str, revision: int, **changes: Any) -> Node:
    entry = predicate(expression, name, "advisory", revision=revision)
    return {"operation": "upsert", **entry, **changes}


def snapshot(*predicates: Any, **changes: Any) -> Node:
    return {**_header("snapshot"), "predicates": list(predicates), **changes}


def delta(*updates: Any, **changes: Any) -> Node:
    return {**_header("delta"), "updates": list(updates), **changes}


def _header(kind: str) -> Node:
    return {"encoding": "vgi.filters.v2", "semantics": "vgi.duckdb.standard.v1", "kind": kind}


def batch(
    document: Node | str,
    payloads: Mapping[str, pa.Array] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """Return a serialized filter batch. The payloads are arrays of length 1."""
    text = document if isinstance(document, str) else json.dumps(document)
    given = payloads or {}
    fields = [
        pa.field("filter_spec", pa.string(), nullable=False),
        *(pa.field(name, array.type) for name, array in given.items()),
    ]
    return serialized(
        [pa.array([text]), *given.values()], pa.schema(fields, metadata=metadata or METADATA)
    )


def serialized(arrays: Sequence[pa.Array], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), schema=schema))
    body: bytes = sink.getvalue().to_pybytes()
    return body

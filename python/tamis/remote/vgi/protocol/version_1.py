"""What differs in versions 1.0 to 1.5 of VGI.

    schema     a name; in version 2 a path, whose parts are joined with dots here
    protocol   a single one, so that requests and HTTP paths do not name it
    filters    another encoding, `filters.filter_list`

Records of version 1 lack some fields of version 2, and the oldest versions lack more. Records are
read by name, and workers ignore fields that they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from tamis.remote.vgi.protocol.framing import UNNAMED, protocol_of
from tamis.remote.vgi.protocol.methods import METHODS
from tamis.remote.vgi.protocol.record import Record, optional, row_of
from tamis.remote.vgi.protocol.records import BIND_REQUEST

__all__ = ["FUNCTION_SCHEMA", "bind_request", "is_first", "request_row"]

#: The schema of the function that reads a table or a branch. Versions before 1.5 lack it.
FUNCTION_SCHEMA: Final = Record(
    "the scan function of a table", pa.schema([optional("schema_name", pa.string())])
)
#: The fields of version 2 that are the path of a schema, and those of version 1.
_NAMES: Final = {"path": "name", "schema_path": "schema_name"}


def is_first(version: str) -> bool:
    """Return whether a version is one of versions 1."""
    return protocol_of(version) == UNNAMED


def request_row(method: str, values: Mapping[str, Any], version: str) -> pa.RecordBatch:
    """Return the parameters of a method. `values` are those of version 2.

    >>> values = {"attach_opaque_data": b"", "schema_path": ["a", "b"], "name": "t"}
    >>> row = request_row("catalog_table_get", values, "1.4.0").to_pylist()[0]
    >>> row["schema_name"], row["name"]
    ('a.b', 't')
    """
    parameters = METHODS[method].parameters
    if not is_first(version):
        return row_of(parameters, values)
    return row_of(_first(parameters), _named(values))


def bind_request(version: str, **values: Any) -> bytes:
    """Return the record that binds a function. `values` are those of version 2."""
    if not is_first(version):
        return BIND_REQUEST.pack(**values)
    return _BIND_REQUEST.pack(**_named(values))


def _first(schema: pa.Schema) -> pa.Schema:
    """Return fields of version 2 as version 1 has them."""
    return pa.schema(
        [
            pa.field(_NAMES[each.name], pa.string(), each.nullable) if each.name in _NAMES else each
            for each in schema
        ]
    )


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        _NAMES.get(key, key): ".".join(value) if key in _NAMES and value is not None else value
        for key, value in values.items()
    }


_BIND_REQUEST: Final = Record(
    BIND_REQUEST.name,
    _first(pa.schema([each for each in BIND_REQUEST.schema if each.name != "argument_names"])),
)

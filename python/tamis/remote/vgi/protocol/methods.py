"""The methods of VGI that reading needs: their parameters, results and headers.

A method with a record as its request has the parameter `request`, whose value is the record. Most
results are the value of the column `result`: a record, or for the statistics of a column a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tamis.remote.vgi.protocol.record import ENUMERATION, TEXTS, needed, optional
from tamis.remote.vgi.protocol.records import SCAN_HEADER

__all__ = ["METHODS", "NOTHING", "REFLECTION_METHODS", "REQUEST", "RESULT", "Method"]

NOTHING: Final = pa.schema([])
REQUEST: Final = pa.schema([needed("request", pa.binary())])
RESULT: Final = pa.schema([needed("result", pa.binary())])
_MAYBE: Final = pa.schema([optional("result", pa.binary())])

_ATTACHED: Final = needed("attach_opaque_data", pa.binary())
_TRANSACTION: Final = optional("transaction_opaque_data", pa.binary())
_PATH: Final = needed("path", TEXTS)
_SCHEMA_PATH: Final = needed("schema_path", TEXTS)
_NAME: Final = needed("name", pa.string())
_TYPE: Final = needed("type", ENUMERATION)
_AT: Final = (optional("at_unit", pa.string()), optional("at_value", pa.string()))


@dataclass(frozen=True, slots=True)
class Method:
    """A method. `result` is None for a stream, whose batches have the schema of the function."""

    parameters: pa.Schema
    result: pa.Schema | None = RESULT
    header: pa.Schema | None = None


_OF_TABLE: Final = Method(pa.schema([_ATTACHED, _SCHEMA_PATH, _NAME, *_AT, _TRANSACTION]))
_CONTENTS: Final = Method(pa.schema([_ATTACHED, _PATH, _TRANSACTION]))
_TYPED_CONTENTS: Final = Method(pa.schema([_ATTACHED, _PATH, _TYPE, _TRANSACTION]))

METHODS: Final[Mapping[str, Method]] = {
    "bind": Method(REQUEST),
    "catalog_attach": Method(REQUEST),
    "catalog_catalogs": Method(NOTHING),
    "catalog_detach": Method(pa.schema([_ATTACHED]), NOTHING),
    "catalog_schema_contents_functions": _TYPED_CONTENTS,
    "catalog_schema_contents_indexes": _CONTENTS,
    "catalog_schema_contents_macros": _TYPED_CONTENTS,
    "catalog_schema_contents_tables": _CONTENTS,
    "catalog_schema_contents_views": _CONTENTS,
    "catalog_schema_get": Method(pa.schema([_ATTACHED, _PATH, _TRANSACTION])),
    "catalog_schemas": Method(pa.schema([_ATTACHED, _TRANSACTION])),
    "catalog_table_column_statistics_get": Method(
        pa.schema([_ATTACHED, _SCHEMA_PATH, _NAME, _TRANSACTION]), _MAYBE
    ),
    "catalog_table_get": _OF_TABLE,
    "catalog_table_scan_branches_get": _OF_TABLE,
    "catalog_table_scan_function_get": _OF_TABLE,
    "catalog_version": Method(pa.schema([_ATTACHED, _TRANSACTION])),
    "init": Method(REQUEST, None, SCAN_HEADER.schema),
    "table_function_cardinality": Method(REQUEST),
    "table_function_plan": Method(REQUEST),
    "table_function_statistics": Method(REQUEST, _MAYBE),
}
REFLECTION_METHODS: Final[Mapping[str, Method]] = {
    "describe": Method(pa.schema([needed("protocol", pa.string())])),
    "list_protocols": Method(NOTHING),
}

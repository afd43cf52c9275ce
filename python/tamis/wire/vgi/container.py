"""The Arrow batch that carries a filter document: one row, its first column the JSON text.

    filter_spec   utf8 not null   the document
    value_N       any type        a constant; a list of constants for IN
    type_N        any type        NULL: the field's type is the target of a cast
    artifact_N    any type        an artifact of a runtime filter

The schema's metadata names the encoding and the evaluation context.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc as ipc

from tamis.wire.vgi.document import ENCODING, Malformed, Node, parse

__all__ = ["Container", "read_container"]

MAX_PAYLOAD_BYTES: Final = 16 << 20

_NONE: Final = "vgi.none.v1"
_SESSION: Final = "vgi.duckdb.session.v1"
_FINGERPRINT: Final = "vgi_context_provider_fingerprint"
_MAX_FINGERPRINT: Final = 256
_SETTINGS: Final = (
    "vgi_time_zone",
    "vgi_calendar",
    "vgi_default_collation",
    "vgi_ieee_floating_point_ops",
    "vgi_integer_division",
)
_BOOLEANS: Final = _SETTINGS[-2:]

_PAYLOAD: Final = re.compile(r"(?:value|type|artifact)_(?:0|[1-9][0-9]{0,8})")
_EXTENSION: Final = b"ARROW:extension:name"
#: Arrow keeps other extension types as their storage, which would change their meaning.
_KNOWN_EXTENSIONS: Final = ("arrow.bool8", "arrow.json", "arrow.uuid", "geoarrow.")


@dataclass(frozen=True, slots=True)
class Container:
    """A filter document and its payloads.

    `context` has the entries of the metadata that choose the evaluation context. They are the same
    for all documents of a scan.
    """

    document: Node
    payloads: Mapping[str, pa.Array]
    context: Mapping[str, str]

    @property
    def has_session(self) -> bool:
        """Whether the predicates rely on settings of a DuckDB session."""
        return self.context["vgi_evaluation_context"] != _NONE

    def value(self, reference: int) -> pa.Array:
        """Return the constant `value_N`, as an array of length 1."""
        return self._payload(f"value_{reference}")

    def cast_type(self, reference: int) -> Any:
        """Return the type of `type_N`."""
        array = self._payload(f"type_{reference}")
        if array[0].is_valid:
            raise Malformed(f"type_{reference} must contain a NULL")
        return array.type

    def require_artifact(self, reference: int) -> None:
        self._payload(f"artifact_{reference}")

    def _payload(self, name: str) -> pa.Array:
        array = self.payloads.get(name)
        if array is None:
            raise Malformed(f"the filter batch has no field {name}")
        return array


def read_container(content: bytes) -> Container:
    """Return the document and the payloads of a serialized filter batch.

    Raises:
        Malformed: It is not such a batch.
    """
    try:
        return _container(_read_batch(content))
    except UnicodeDecodeError as error:  # a name, a metadata entry or the document
        raise Malformed("the filter batch has text that is not UTF-8") from error


def _container(batch: pa.RecordBatch) -> Container:
    if batch.num_rows != 1:
        raise Malformed("the filter batch does not have one row")
    fields = list(batch.schema)
    first = fields[0] if fields else None
    if first is None or first.name != "filter_spec":
        raise Malformed("the first field of the filter batch is not filter_spec")
    if first.type != pa.string() or first.nullable or not batch.column(0)[0].is_valid:
        raise Malformed("filter_spec is not utf8 not null")
    context = _context(batch.schema.metadata or {})
    payloads: dict[str, pa.Array] = {}
    for place, field in enumerate(fields[1:], 1):
        if _PAYLOAD.fullmatch(field.name) is None or field.name in payloads:
            raise Malformed(f"the filter batch has the unexpected field {field.name[:60]!r}")
        _check_extensions(field)
        payloads[field.name] = batch.column(place)
    if sum(each.nbytes for each in payloads.values()) > MAX_PAYLOAD_BYTES:
        raise Malformed(f"the payloads have more than {MAX_PAYLOAD_BYTES} bytes")
    return Container(parse(batch.column(0)[0].as_py()), payloads, context)


def _read_batch(content: bytes) -> pa.RecordBatch:
    try:
        with ipc.open_stream(content) as reader:
            batches = list(reader)
        for each in batches:
            each.validate(full=True)
    except (pa.ArrowException, OSError, MemoryError, OverflowError) as error:
        raise Malformed("the filter is not an Arrow IPC stream") from error
    if len(batches) != 1:
        raise Malformed("the filter is not one Arrow batch")
    return batches[0]


def _context(metadata: Mapping[bytes, bytes]) -> dict[str, str]:
    entries = {name.decode(): value.decode() for name, value in metadata.items()}
    if entries.get("vgi_filter_encoding") != ENCODING or entries.get("vgi_filter_version") != "2":
        raise Malformed(f"the filter batch is not marked as {ENCODING}, version 2")
    profile = entries.get("vgi_evaluation_context")
    names = ("vgi_evaluation_context", *_SETTINGS, _FINGERPRINT)
    context = {name: entries[name] for name in names if name in entries}
    if profile == _NONE:
        if len(context) > 1:
            raise Malformed(f"{_NONE} does not allow settings of a session")
    elif profile == _SESSION:
        _check_session(context)
    else:
        raise Malformed("the filter batch has no known evaluation context")
    return context


def _check_session(context: Mapping[str, str]) -> None:
    missing = [name for name in _SETTINGS if not context.get(name)]
    if missing:
        raise Malformed(f"{_SESSION} needs {missing[0]}")
    if any(context[name] not in ("true", "false") for name in _BOOLEANS):
        raise Malformed(f"a setting of {_SESSION} is neither true nor false")
    fingerprint = context.get(_FINGERPRINT)
    if fingerprint is not None and not 1 <= len(fingerprint.encode()) <= _MAX_FINGERPRINT:
        raise Malformed(f"{_FINGERPRINT} does not have 1 to {_MAX_FINGERPRINT} bytes")


def _check_extensions(field: pa.Field) -> None:
    """Raise Malformed for an unknown extension type, also inside lists and structs."""
    data_type = field.type
    name = (field.metadata or {}).get(_EXTENSION, b"").decode(errors="replace")
    if isinstance(data_type, pa.BaseExtensionType):
        name, data_type = data_type.extension_name, data_type.storage_type
    if name and not name.startswith(_KNOWN_EXTENSIONS):
        raise Malformed(f"the filter batch has the unknown extension type {name[:60]!r}")
    for place in range(data_type.num_fields):
        _check_extensions(data_type.field(place))

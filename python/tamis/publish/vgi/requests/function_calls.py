"""The methods that call a function: bind, plan, init, cardinality and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa

from tamis.publish.vgi.catalog import Catalog
from tamis.publish.vgi.functions.arguments import given_arguments
from tamis.publish.vgi.functions.table_function import BoundFunction, Split
from tamis.publish.vgi.refusals import Refused
from tamis.publish.vgi.requests.scan_batches import Scan
from tamis.remote.vgi.protocol import records
from tamis.remote.vgi.protocol.framing import batch_of, schema_of, stream_bytes
from tamis.wire.vgi import Filters, Mode, Predicate

__all__ = ["Calls"]

_BOUND: Final = (
    "function_name",
    "arguments",
    "function_type",
    "schema_path",
    "at_unit",
    "at_value",
    "copy_from",
    "copy_to",
    "input_schema",
)
_UNUSED: Final = ("at_unit", "at_value", "copy_from", "copy_to", "input_schema")
_SPLITS_OF_A_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of the functions of a catalog."""

    catalog: Catalog

    def bind(self, request: bytes) -> bytes:
        schema = self._bound(request).schema
        return records.BOUND.pack(output_schema=schema.serialize().to_pybytes())

    def cardinality(self, request: bytes) -> bytes:
        call = records.FUNCTION_CALL.unpack(request)
        return records.CARDINALITY.pack(estimate=self._bound(call["bind_call"]).cardinality())

    def statistics(self, request: bytes) -> bytes | None:
        call = records.FUNCTION_CALL.unpack(request)
        statistics = self._bound(call["bind_call"]).statistics()
        return None if statistics is None else stream_bytes(statistics)

    def plan(self, request: bytes) -> bytes:
        plan = records.PLAN_REQUEST.unpack(request)
        function = self._bound(plan["bind_call"])
        predicates = _expressed(_filters(plan, function.schema))
        refined = _filters(plan, function.schema, "refined_filters")
        predicates += [each for each in _expressed(refined) if each.mode is Mode.ADVISORY]
        if not function.has_splits:  # not to be redeemed: the client opens an ordinary scan
            return _planned([Split(b"", function.cardinality(), None)], 1, None)
        size = max(plan["target_split_bytes"] or 0, 0) or None
        splits = function.splits(predicates, size, max(plan["min_splits"] or 1, 1))
        version = sha256(function.version().encode()).digest()
        first = _page(plan["cursor"], version, len(splits))
        most = min(max(plan["max_splits_per_response"] or _SPLITS_OF_A_PAGE, 1), _SPLITS_OF_A_PAGE)
        page = splits[first : first + most]
        stop = first + len(page)
        cursor = None if stop == len(splits) else stop.to_bytes(8, "big") + version
        return _planned(page, len(splits), cursor)

    def open_scan(self, request: bytes) -> Scan:
        """Return the scan of an init request.

        Raises:
            Refused: The request asks for something that this worker does not do.
            Malformed: The filters are not valid, or cannot be evaluated.
        """
        init = records.INIT_REQUEST.unpack(request)
        function = self._bound(init["bind_call"])
        wanted = schema_of(init["output_schema"], "the output schema")
        if not wanted.equals(function.schema, check_metadata=False):
            raise Refused("the columns have changed since bind", "FAILED_PRECONDITION")
        if init["tablesample_percentage"] is not None:
            raise Refused("TABLESAMPLE is not supported", "UNIMPLEMENTED")
        tokens = init["split_tokens"] or None
        if tokens is not None and not function.has_splits:
            raise Refused("[SPLIT_TOKEN_INVALID] the function has no splits")
        if init["execution_id"] and tokens is None:
            # Another connection for the same scan would return all rows once more.
            raise Refused(
                "a second connection cannot join a scan without splits", "FAILED_PRECONDITION"
            )
        limit = init["row_limit"]
        if limit is not None and limit < 0:
            raise Refused("the row limit is negative")
        has_order = init["order_by_column_name"] is not None
        filters = _filters(init, function.schema)
        return Scan(function, filters, init["projection_ids"], None if has_order else limit, tokens)

    def _bound(self, request: bytes) -> BoundFunction:
        call = records.BIND_REQUEST.unpack(request, _BOUND)
        for name in _UNUSED:
            if call[name] is not None:
                raise Refused(f"{name} is not supported", "UNIMPLEMENTED")
        if call["function_type"].upper() != "TABLE":
            raise Refused("only table functions are supported", "UNIMPLEMENTED")
        function = self.catalog.function(call["function_name"], call["schema_path"])
        return function.bind(given_arguments(function, call["arguments"]))


def _filters(
    request: Mapping[str, Any], schema: pa.Schema, name: str = "pushdown_filters"
) -> Filters | None:
    content = request[name]
    keys = [batch_of(each, "the join keys") for each in request["join_keys"] or ()]
    return Filters.snapshot(content, schema, keys) if content else None


def _expressed(filters: Filters | None) -> list[Predicate]:
    predicates = () if filters is None else filters.predicates.values()
    return [each for each in predicates if each.expr is not None]


def _page(cursor: bytes | None, version: bytes, count: int) -> int:
    """Return the first split of a page."""
    if not cursor:
        return 0
    first = int.from_bytes(cursor[:8], "big")
    if len(cursor) != 8 + len(version) or first > count:
        raise Refused("[SPLIT_TOKEN_INVALID] the cursor is not one of this worker")
    if cursor[8:] != version:
        raise Refused("[SPLIT_SNAPSHOT_EXPIRED] the table has changed", "FAILED_PRECONDITION")
    return first


def _planned(page: Sequence[Split], total: int, cursor: bytes | None) -> bytes:
    written = [
        records.SPLIT.pack(
            payload=b"", token=each.token, estimated_rows=each.rows, estimated_bytes=each.size
        )
        for each in page
    ]
    return records.PLANNED.pack(
        splits=written,
        next_cursors=None if cursor is None else [cursor],
        estimated_total_splits=total,
        scope="catalog",
    )

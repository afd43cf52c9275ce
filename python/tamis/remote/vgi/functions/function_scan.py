"""Scans of a bound function: what of a query is sent, and the tasks that read the rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import Expr
from tamis.remote.contract import Applied, JoinKeys, Order, ReadRequest, RemoteError
from tamis.remote.vgi.client import Client
from tamis.remote.vgi.filters.encodings import encoding_of
from tamis.remote.vgi.filters.filter_document import FilterDocument, Mode, NotEncodable
from tamis.remote.vgi.filters.filter_list import FilterList
from tamis.remote.vgi.filters.sendable_filters import Sendable, sendable
from tamis.remote.vgi.filters.typed_constants import constants
from tamis.remote.vgi.functions.call import Call
from tamis.remote.vgi.functions.scan_task import VgiTask
from tamis.remote.vgi.functions.splits import planned_splits

__all__ = ["Filtering", "FunctionScan"]

#: More join keys are not sent: the query then filters the rows.
_MOST_KEYS: Final = 100_000
#: Types that Spark and workers order alike.
_ORDERED: Final = frozenset(
    {
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
    }
)


class Filtering(StrEnum):
    """How much filters of Spark are left to the worker."""

    EXACT = "exact"  # Spark does not apply again what the worker applies exactly
    ADVISORY = "advisory"  # Spark applies every filter again
    OFF = "off"  # no filter is sent


class FunctionScan:
    """Reads the rows of a call.

    Args:
        client: The worker.
        call: The bound call.
        filtering: How much filters are left to the worker.
    """

    def __init__(self, client: Client, call: Call, filtering: Filtering) -> None:
        self._client, self._call = client, call
        self._encoding = encoding_of(client.version)
        self._filtering = filtering if call.function.filters else Filtering.OFF
        if self._filtering is Filtering.EXACT and not self._can_require:
            self._filtering = Filtering.ADVISORY

    @property
    def _can_require(self) -> bool:
        """Whether the function promises to apply exactly what is sent as required."""
        return self._encoding is FilterDocument or self._call.function.filters_exactly

    def is_exact(self, expr: Expr) -> bool:
        """Return whether a predicate can be required."""
        sent = self._sendable(expr)
        return self._filtering is Filtering.EXACT and sent is not None and sent.is_exact

    def _sendable(self, expr: Expr) -> Sendable | None:
        return sendable(expr, self._call.columns, self._encoding)

    def applied(self, filters: Sequence[Expr]) -> list[Applied]:
        """Return how the worker applies each of these conjuncts."""
        document = self._document()
        return [self._applied(each, document) for each in filters]

    def _applied(self, expr: Expr, document: FilterDocument | FilterList) -> Applied:
        sent = None
        if self._filtering is not Filtering.OFF:
            sent = self._sendable(expr)
        if sent is None:
            return Applied.IGNORED
        try:
            document.add(sent.predicate, Mode.REQUIRED)
        except NotEncodable:  # together the filters are too large
            return Applied.IGNORED
        is_exact = sent.is_exact and self._filtering is Filtering.EXACT
        return Applied.EXACTLY if is_exact else Applied.PARTLY

    def tasks(self, request: ReadRequest) -> list[VgiTask]:
        """Return the parts of the scan.

        Raises:
            RemoteError: The worker fails, or a required filter cannot be sent as such.
        """
        options, has_optional = self._options(request, with_optional=True)
        plain = self._options(request, with_optional=False)[0] if has_optional else {}
        try:
            splits = planned_splits(self._client, self._call, options)
        except RemoteError:
            if not plain:
                raise
            # Workers may fail on filters. Without those that are optional, there are more rows.
            options, plain = plain, {}
            splits = planned_splits(self._client, self._call, options)
        limit = None if request.order else request.limit
        if splits is None:
            fallback = self._call.scan_request(**plain) if plain else b""
            return [self._task(self._call.scan_request(**options), fallback, limit)]
        return [
            self._task(self._call.scan_request(**each.options, split_tokens=tokens), b"", limit)
            for each in splits
            for tokens in each.groups
        ]

    def _task(self, request: bytes, fallback: bytes, limit: int | None) -> VgiTask:
        client = self._client
        return VgiTask(
            client.label, client.location, client.version, request, fallback, limit, client.token
        )

    def _options(self, request: ReadRequest, *, with_optional: bool) -> tuple[dict[str, Any], bool]:
        """Return the options of a scan, and whether something in them is optional."""
        document = self._document()
        for each in request.required:
            self._require(each, document)
        required = len(document)
        if with_optional and self._filtering is not Filtering.OFF:
            for each in request.filters:
                self._suggest(each, document)
            for each_keys in request.keys:
                self._add_keys(each_keys, document)
        has_optional = len(document) > required
        places = self._projection(request.columns, document)
        options: dict[str, Any] = {
            "pushdown_filters": document.encoded(places),
            "join_keys": document.join_keys or None,
            "projection_ids": places,
        }
        # Whether a worker counts rows before or after filters is not specified.
        if not document and request.limit is not None and not request.order:
            options["row_limit"] = request.limit
        if not document and request.limit is not None and with_optional:
            options |= self._order(request)
        return options, has_optional or "order_by_limit" in options

    def _document(self) -> FilterDocument | FilterList:
        return self._encoding(self._call.columns)

    def _require(self, expr: Expr, document: FilterDocument | FilterList) -> None:
        sent = self._sendable(expr)
        try:
            if sent is None or not sent.is_exact or self._filtering is not Filtering.EXACT:
                raise NotEncodable("the function no longer applies it exactly")
            document.add(sent.predicate, Mode.REQUIRED)
        except NotEncodable as error:
            raise self._client.error(
                "planning", f"a filter can no longer be sent ({error})", "Run the query again"
            ) from error

    def _suggest(self, expr: Expr, document: FilterDocument | FilterList) -> None:
        sent = self._sendable(expr)
        if sent is None:
            return
        try:
            document.add(sent.predicate, Mode.ADVISORY)
        except NotEncodable:
            return  # together the filters are too large

    @staticmethod
    def _add_keys(keys: JoinKeys, document: FilterDocument | FilterList) -> None:
        """Add the keys of a join, if they can be sent."""
        name, *inner = keys.column.path
        options = [each for each in dict.fromkeys(keys.options) if each is not None]
        is_sent = not inner and options and len(options) <= _MOST_KEYS
        if not is_sent or keys.column.type.is_floating or name not in document.columns.names:
            return
        values = constants(options, keys.column.type, document.columns.field(name).type)
        if values is not None:
            with suppress(NotEncodable):
                document.add_keys(name, values)

    def _projection(
        self, columns: Sequence[str], document: FilterDocument | FilterList
    ) -> list[int] | None:
        """Return the positions of the columns to read; None if the function returns all.

        Some workers can only filter by columns that they return.
        """
        if not self._call.function.projects:
            return None
        wanted = dict.fromkeys([*columns, *sorted(document.paths)])
        places = [self._call.columns.get_field_index(each) for each in wanted]
        return places or [0]

    def _order(self, request: ReadRequest) -> dict[str, Any]:
        """Return the hint that only the first rows of an order are needed."""
        if len(request.order) != 1 or not self._is_ordered(request.order[0]):
            return {}
        (key,) = request.order
        return {
            "order_by_column_name": key.column,
            "order_by_direction": "DESC" if key.is_descending else "ASC",
            "order_by_null_order": "NULLS_FIRST" if key.nulls_first else "NULLS_LAST",
            "order_by_limit": request.limit,
        }

    def _is_ordered(self, key: Order) -> bool:
        places = self._call.columns.get_all_field_indices(key.column)
        return len(places) == 1 and self._call.columns.field(places[0]).type in _ORDERED

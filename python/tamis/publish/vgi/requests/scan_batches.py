"""The batches of one scan: filters, then projection, then the limit."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.expr.nodes import columns_of
from tamis.publish.vgi.functions.table_function import BoundFunction, Rows
from tamis.publish.vgi.refusals import Refused
from tamis.publish.vgi.rows import passing
from tamis.remote.vgi.protocol.framing import CANCEL
from tamis.wire.vgi import Filters, Mode, Predicate

__all__ = ["Scan"]

_DELTA: Final = b"vgi_pushdown_filters"
#: Batches without a passing row that one turn skips. The client may then cancel.
_SKIPPED: Final = 16


class Scan:
    """A scan. Each turn returns one batch.

    Args:
        function: The bound function.
        filters: The filters of the request; None if it has none.
        projection: The ordinals of the columns to return, in this order; None: all.
        limit: The number of rows after which the scan may end; None: all.
        tokens: The splits to read; None: all rows.

    Raises:
        Refused: The projection has a column that does not exist.
    """

    def __init__(
        self,
        function: BoundFunction,
        filters: Filters | None,
        projection: Sequence[int] | None = None,
        limit: int | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        names = function.schema.names
        if projection is not None and not all(0 <= each < len(names) for each in projection):
            raise Refused("a projection id is out of range")
        self._ordinals = list(range(len(names)) if projection is None else projection)
        self.schema = pa.schema([function.schema.field(each) for each in self._ordinals])
        self._filters = filters
        self._first = {} if filters is None else filters.predicates
        # The engine applies advisory filters again, and may then need more rows.
        is_final = all(each.mode is Mode.REQUIRED for each in self._predicates())
        self._left = limit if is_final else None
        self._pending: pa.RecordBatch | None = None
        predicates = [each for each in self._predicates() if each.expr is not None]
        needed = {names[each] for each in self._ordinals}
        needed |= {path[0] for each in predicates for path in _paths(each)}
        # Without any column the number of rows would be lost.
        columns = [name for name in names if name in needed] or names[:1]
        self._names = [names[each] for each in self._ordinals]
        self._rows: Iterator[Rows] = function.rows(columns, predicates, tokens)

    def _predicates(self) -> Sequence[Predicate]:
        return () if self._filters is None else tuple(self._filters.predicates.values())

    def next(
        self, metadata: Mapping[bytes, bytes], most_bytes: int | None = None
    ) -> pa.RecordBatch | None:
        """Return the next batch, which may have no rows; None at the end.

        Args:
            metadata: The metadata of the turn: an update of the filters, or the end of the scan.
            most_bytes: About how many bytes the batch may have; None: any number.

        Raises:
            Malformed: The update of the filters is not valid.
            CannotEvaluate: A required filter raises an error for a row.
            Refused: The update of the filters is not valid, or one row has too many bytes.
        """
        if CANCEL in metadata:
            self.close()
            return None
        if _DELTA in metadata:
            self._update(metadata[_DELTA])
        batch, self._pending = self._pending, None
        if batch is None:
            batch = self._next()
        if batch is None or most_bytes is None or batch.nbytes <= most_bytes:
            return batch
        rows = batch.num_rows * most_bytes // batch.nbytes
        if rows == 0 or batch.num_rows == 1:
            raise Refused(
                f"a row has more than {most_bytes} bytes",
                "RESOURCE_EXHAUSTED",
                type="ResponseTooLargeError",
            )
        self._pending = batch.slice(rows)
        return batch.slice(0, rows)

    def close(self) -> None:
        """End the scan, and release its files."""
        self._pending, rows, self._rows = None, self._rows, iter(())
        if isinstance(rows, Generator):
            rows.close()

    def _next(self) -> pa.RecordBatch | None:
        if self._left == 0:
            self.close()
            return None
        for _ in range(_SKIPPED):
            read = next(self._rows, None)
            if read is None:
                return None
            batch = self._passing(read)
            if batch.num_rows:
                break
        return self._projected(self._limited(batch))

    def _update(self, encoded: bytes) -> None:
        if self._filters is None:
            raise Refused("a dynamic filter delta was received without an initial snapshot")
        try:
            content = base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise Refused("a dynamic filter delta is not base64") from error
        self._filters = self._filters.delta(content)
        self._left = None  # as for the advisory filters of a snapshot

    def _passing(self, read: Rows) -> pa.RecordBatch:
        batch, columns = read.batch, set(read.batch.schema.names)
        for predicate in self._predicates():
            is_first = self._first.get(predicate.id) is predicate
            if (is_first and predicate.id in read.passed) or batch.num_rows == 0:
                continue
            if not all(path[0] in columns for path in _paths(predicate)):
                # An update may name a column that is not read. The engine applies it, too.
                assert predicate.mode is Mode.ADVISORY
                continue
            kept = passing(predicate, batch)
            if not kept.all():
                batch = batch.take(pa.array(np.flatnonzero(kept)))
        return batch

    def _limited(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._left is None:
            return batch
        batch = batch.slice(0, self._left)
        self._left -= batch.num_rows
        return batch

    def _projected(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self._names:
            rows = pa.array([{}] * batch.num_rows, pa.struct([]))
            return pa.RecordBatch.from_struct_array(rows)
        columns = [batch.column(name) for name in self._names]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _paths(predicate: Predicate) -> set[tuple[str, ...]]:
    if predicate.expr is None:
        return set()
    own = {path for each in predicate.computed.values() for path in each.paths}
    return own | set(columns_of(predicate.expr))

"""Rows that pass a predicate, decided by the evaluator that prunes files.

Each row is a container of one row: the minimum and the maximum of a column are its value. So the
verdict is exact: ALL if the row passes, NONE if it does not. SOME means that the predicate raises
an error for the row, such as an overflow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation import ALL, NONE, SOME, verdicts
from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.statistics import Recorded, Statistics
from tamis.expr.nodes import Column
from tamis.expr.types import BOOLEAN
from tamis.files.bounds import column_bounds, constant_bounds
from tamis.wire.vgi import Mode, Predicate
from tamis.wire.vgi.row_values import Computed, column_values
from tamis.wire.vgi.rowwise import RowTruth

__all__ = ["CannotEvaluate", "passing"]

#: Rows that are evaluated at a time.
_BLOCK = 1 << 16


class CannotEvaluate(ValueError):
    """A required predicate raises an error for a row."""


class _Rows(Statistics):
    """The rows of a batch as containers."""

    def __init__(self, batch: pa.RecordBatch, computed: Mapping[str, Computed]) -> None:
        self._batch, self._computed = batch, computed
        self._bounds: dict[Column | str, Bounds] = {}

    @property
    def num_containers(self) -> int:
        return int(self._batch.num_rows)

    def bounds(self, column: Column) -> Bounds:
        if column not in self._bounds:
            values = column_values(self._batch, column.path)
            self._bounds[column] = constant_bounds(column.type, _microseconds(values))
        return self._bounds[column]

    def expression(self, key: Recorded) -> Bounds | None:
        if not isinstance(key, str) or key not in self._computed:
            return None
        if key not in self._bounds:
            computed = self._computed[key]
            if isinstance(computed, RowTruth):
                self._bounds[key] = _truth_bounds(*computed.outcome(self._batch))
            else:
                self._bounds[key] = constant_bounds(computed.type, computed.values(self._batch))
        return self._bounds[key]


def _truth_bounds(values: pa.Array, failed: pa.Array) -> Bounds:
    """Return the bounds of truth values. For a row with an error, every value is possible."""
    least = pc.if_else(failed, False, values)
    greatest = pc.if_else(failed, True, values)
    null_count = pc.if_else(failed, pa.scalar(None, pa.int64()), values.is_null().cast(pa.int64()))
    ones = pa.array(np.ones(len(values), np.int64))
    return column_bounds(BOOLEAN, least, greatest, null_count, None, ones)


def _microseconds(values: pa.Array) -> pa.Array:
    """Return nanoseconds in whole microseconds, rounded down, as expressions have them."""
    if values.type != pa.timestamp("ns"):
        return values
    numbers = values.cast(pa.int64()).fill_null(0).to_numpy()
    mask = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers // 1000, pa.timestamp("us"), mask=mask)


def passing(predicate: Predicate, batch: pa.RecordBatch) -> Flags:
    """Return which rows of a batch are kept.

    Args:
        predicate: The predicate. An advisory one keeps the rows for which it raises an error.
        batch: Rows with all columns of the predicate.

    Raises:
        CannotEvaluate: A required predicate raises an error for a row.
    """
    expr = predicate.expr
    if expr is None:
        return np.ones(batch.num_rows, np.bool_)
    codes = np.empty(batch.num_rows, np.int8)
    for start in range(0, batch.num_rows, _BLOCK):
        block = batch.slice(start, _BLOCK)
        codes[start : start + _BLOCK] = verdicts(expr, _Rows(block, predicate.computed))
    if predicate.mode is Mode.REQUIRED and (codes == SOME).any():
        raise CannotEvaluate(
            f"the required predicate {predicate.id!r} raises an error for a row, such as an "
            "overflow"
        )
    kept: Flags = codes != NONE if predicate.mode is Mode.ADVISORY else codes == ALL
    return kept

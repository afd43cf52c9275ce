"""What tamis claims about an expression in every container, and values that contradict it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.interpreter import truth, value
from tamis.evaluation.statistics import Statistics
from tamis.expr.decimals import unscaled
from tamis.expr.nodes import Expr
from tests.differential.keys import order_key


@dataclass(frozen=True, slots=True)
class Claim:
    """The bounds of an expression, one entry for each container."""

    sql: str
    data_type: str
    lower: list[Any]
    upper: list[Any]
    can_be_null: list[bool]
    can_be_nan: list[bool]
    can_be_value: list[bool]
    says_anything: list[bool]

    def allows(self, ordinal: int, value: Any) -> bool:
        """Return whether a row of the container may have the value."""
        if value is None:
            return self.can_be_null[ordinal]
        if isinstance(value, float) and value != value:
            return self.can_be_nan[ordinal]
        if not self.can_be_value[ordinal]:
            return False
        lower, upper = self.lower[ordinal], self.upper[ordinal]
        if isinstance(value, Decimal) and isinstance(lower if lower is not None else upper, int):
            value = unscaled(value, -int(value.as_tuple().exponent))
        return (lower is None or lower <= value) and (upper is None or value <= upper)

    def describe(self, ordinal: int, value: Any, given: Mapping[str, Any]) -> str:
        """Return one line: the value, its inputs, and the claim that it contradicts."""
        return (
            f"{self.sql} = {value!r} for {dict(given)}, outside of [{self.lower[ordinal]!r}, "
            f"{self.upper[ordinal]!r}] null={self.can_be_null[ordinal]} "
            f"nan={self.can_be_nan[ordinal]} value={self.can_be_value[ordinal]} ({self.data_type})"
        )


def claim_of(
    sql: str, data_type: str, expr: Expr, statistics: Statistics, count: int
) -> Claim | None:
    """Return the claim of an expression over `count` containers; None if its type is unknown."""
    if data_type == "boolean":
        return _truth_claim(sql, truth(expr, statistics), count)
    bounds = value(expr, statistics)
    return None if bounds is None else _value_claim(sql, data_type, bounds, count)


def contradictions(claim: Claim, containers: Sequence[int], values: Sequence[Any]) -> list[int]:
    """Return the positions of values that the claim of their container does not allow."""
    return [
        place
        for place, (ordinal, value) in enumerate(zip(containers, values, strict=True))
        if claim.says_anything[ordinal] and not claim.allows(ordinal, value)
    ]


def statistics_of(
    random: Random, types: Mapping[str, pa.DataType], containers: Sequence[Sequence[Any]]
) -> pa.Table:
    """Return the statistics of containers of rows, with a few cells missing."""
    table: dict[str, pa.Array] = {"num_records": pa.array([len(rows) for rows in containers])}
    for name, arrow in types.items():
        cells: dict[str, list[Any]] = {"min": [], "max": [], "null_count": [], "nan_count": []}
        for rows in containers:
            values = [row[name] for row in rows]
            # NaN is not equal to itself.
            ordinary = sorted((v for v in values if v is not None and v == v), key=order_key)
            known = random.random() < 0.97
            cells["min"].append(ordinary[0] if ordinary and known else None)
            known = random.random() < 0.97
            cells["max"].append(ordinary[-1] if ordinary and known else None)
            cells["null_count"].append(values.count(None) if random.random() < 0.95 else None)
            cells["nan_count"].append(sum(v is not None and v != v for v in values))
        for cell, column in cells.items():
            if cell != "nan_count" or pa.types.is_floating(arrow):
                table[f"{cell}.{name}"] = pa.array(column, arrow if cell[0] == "m" else pa.int64())
    return pa.table(table)


def plain(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return dates and timestamps as numbers: Python has no dates outside the years 1 to 9999."""
    data_type = column.type
    if pa.types.is_date32(data_type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(data_type):
        column = column.cast(pa.int64())
    elif pa.types.is_string(data_type):
        column = column.cast(pa.binary())
    value: list[Any] = column.to_pylist()
    return value


def _flags(flags: Any, count: int) -> list[bool]:
    value: list[bool] = np.broadcast_to(flags, (count,)).tolist()
    return value


def _truth_claim(sql: str, truths: TruthSet, count: int) -> Claim:
    true, false = _flags(truths.can_be_true, count), _flags(truths.can_be_false, count)
    null = _flags(truths.can_be_null, count)
    says = [not (t and f and n) for t, f, n in zip(true, false, null, strict=True)]
    either = [t or f for t, f in zip(true, false, strict=True)]
    lower = [0 if each else 1 for each in false]
    upper = [1 if each else 0 for each in true]
    return Claim(sql, "boolean", lower, upper, null, [False] * count, either, says)


def _value_claim(sql: str, data_type: str, bounds: Bounds, count: int) -> Claim:
    lower, upper = _edges(bounds.lower, count), _edges(bounds.upper, count)
    null, nan = _flags(bounds.can_be_null, count), _flags(bounds.can_be_nan, count)
    has_value = _flags(bounds.can_be_value, count)
    least, greatest = None, None
    if bounds.type.is_discrete:
        least, greatest = bounds.type.domain
    elif bounds.type.is_floating:
        least, greatest = -np.inf, np.inf
    says = [
        not (n and v and (a or not bounds.type.is_floating))
        or (lo is not None and lo != least)
        or (hi is not None and hi != greatest)
        for lo, hi, n, a, v in zip(lower, upper, null, nan, has_value, strict=True)
    ]
    return Claim(sql, data_type, lower, upper, null, nan, has_value, says)


def _edges(edge: Any, count: int) -> list[Any]:
    if edge is None:
        return [None] * count
    values: list[Any] = edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()
    return values * count if len(values) == 1 else values

"""Sums of unscaled values as LONG: what they are as decimals, and when they are not enough."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from tamis.indexing.build.rows.long_sums import (
    are_incomplete,
    as_decimals,
    is_decimal_sum,
    summed_type,
)
from tamis.indexing.format.entries import Entry

LEAST, MOST = -(2**63), 2**63 - 1


def entry(kind: str, of: str) -> Entry:
    return Entry(kind, f"{kind}(a)", "a", of, path=("a",), by=())


def result(positive: int | None, negative: int | None) -> pa.Table:
    """Return two groups of entry 3: one without a value, and this one."""
    columns = {"positive3": positive, "negative3": negative}
    empty = {"positive3": 0, "negative3": 0}
    kinds = pa.schema([(name, pa.int64()) for name in columns])
    return pa.Table.from_pylist([empty, columns], kinds)


# type | sums | whether they have to be computed again
COMPLETE = [
    ("decimal(12,2)", (7, -5), False),
    ("decimal(12,2)", (0, 0), False),
    ("decimal(12,2)", (MOST, LEAST), False),
    ("decimal(12,2)", (None, 0), True),
    ("decimal(12,2)", (0, None), True),
    ("decimal(38,2)", (None, None), True),
    # a sum of LONG that overflows is not known, however it is computed
    ("long", (None, 0), False),
    ("long", (0, LEAST), False),
]


@pytest.mark.parametrize(("of", "cells", "incomplete"), COMPLETE)
def test_sums_that_are_incomplete(
    of: str, cells: tuple[int | None, int | None], incomplete: bool
) -> None:
    assert are_incomplete(3, entry("sum", of), result(*cells)) == incomplete


def test_other_aggregates_are_complete() -> None:
    none = pa.table({"count3": pa.array([], pa.int64())})
    for kind in ("count", "min", "max"):
        assert not are_incomplete(3, entry(kind, "decimal(9,2)"), none)
        assert not is_decimal_sum(entry(kind, "decimal(9,2)"))
    assert is_decimal_sum(entry("sum", "decimal(9,2)"))
    assert not is_decimal_sum(entry("sum", "integer"))
    assert summed_type(entry("sum", "decimal(9,2)")) == "decimal(9,2)"
    assert summed_type(entry("sum", "short")) == "BIGINT"
    empty = result(1, 1).slice(2)
    assert not are_incomplete(3, entry("sum", "decimal(9,2)"), empty)


# type | positive, negative as LONG | as decimals
DECIMALS = [
    ("decimal(12,2)", (175, -1), ("1.75", "-0.01")),
    ("decimal(12,0)", (MOST, LEAST + 1), (str(MOST), str(LEAST + 1))),
    ("long", (MOST, LEAST), (str(MOST), str(LEAST))),
    ("integer", (None, -7), (None, "-7")),
    ("long", (0, None), ("0", None)),
    ("decimal(38,38)", (1, 0), ("1E-38", "0")),
    # Spark's sum of DECIMAL(8) has 18 digits
    ("decimal(8,0)", (10**18 - 1, 1 - 10**18), ("999999999999999999", "-999999999999999999")),
    ("decimal(8,0)", (10**18, -(10**18)), (None, None)),
    ("decimal(9,0)", (10**18, -(10**18)), ("1000000000000000000", "-1000000000000000000")),
]


@pytest.mark.parametrize(("of", "longs", "decimals"), DECIMALS)
def test_sums_as_decimals(
    of: str, longs: tuple[int | None, int | None], decimals: tuple[str | None, str | None]
) -> None:
    table = as_decimals(3, entry("sum", of), result(*longs))
    expected = [None if text is None else Decimal(text) for text in decimals]
    for sign, value in zip(("positive3", "negative3"), expected, strict=True):
        column = table.column(sign)
        assert column.to_pylist() == [0, value]
        column.validate(full=True)
        assert pa.types.is_decimal128(column.type)
        assert column.type.precision == 38


def test_sums_of_slices() -> None:
    table = pa.concat_tables([result(5, -6), result(None, -8)]).slice(1)
    decimals = as_decimals(3, entry("sum", "decimal(9,1)"), table)
    assert [str(v) for v in decimals.column("positive3").to_pylist()] == ["0.5", "0.0", "None"]
    assert [str(v) for v in decimals.column("negative3").to_pylist()] == ["-0.6", "0.0", "-0.8"]

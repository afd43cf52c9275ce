"""Hashes of constants equal Spark's, and Bloom filters filled by Spark never deny a member."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.domain.edge_values import edge_of
from tamis.expr.types import LONG, STRING, DataType
from tamis.indexing.format import blooms
from tamis.indexing.format.hashing import hash_long, hashes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = 1000


def _whole(bits: int) -> Callable[[random.Random], int]:
    limit = 1 << (bits - 1)
    return lambda rng: rng.choice([0, -1, 1, limit - 1, -limit, rng.randrange(-limit, limit)])


def _float(rng: random.Random) -> float:
    (number,) = struct.unpack("<f", struct.pack("<I", rng.getrandbits(32)))
    return rng.choice([0.0, -0.0, float("inf"), -float("inf"), 1e-45, 1.5, number, number, number])


def _double(rng: random.Random) -> float:
    (number,) = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))
    return rng.choice([0.0, -0.0, float("inf"), -float("inf"), 5e-324, 0.1, number, number, number])


def _decimal(precision: int, scale: int) -> Callable[[random.Random], Decimal]:
    def value(rng: random.Random) -> Decimal:
        digits = rng.randint(1, precision)
        unscaled = rng.choice([0, 1, -1, 127, 128, -128, -129, 10**digits - 1, 1 - 10**digits,
                               rng.randrange(-(10**digits) + 1, 10**digits)])  # fmt: skip
        # Built from digits, so that the context does not round.
        return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))

    return value


def _text(rng: random.Random) -> str:
    size = rng.choice([0, 1, 3, 4, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 100])
    return "".join(rng.choice("ab\x00é€𝔘\U0010ffff") for _ in range(size))


TYPES: list[tuple[str, pa.DataType, Callable[[random.Random], Any]]] = [
    ("boolean", pa.bool_(), lambda rng: rng.random() < 0.5),
    ("byte", pa.int8(), _whole(8)),
    ("short", pa.int16(), _whole(16)),
    ("integer", pa.int32(), _whole(32)),
    ("long", pa.int64(), _whole(64)),
    ("float", pa.float32(), _float),
    ("double", pa.float64(), _double),
    ("decimal(9,2)", pa.decimal128(9, 2), _decimal(9, 2)),
    ("decimal(18,0)", pa.decimal128(18, 0), _decimal(18, 0)),
    ("decimal(19,4)", pa.decimal128(19, 4), _decimal(19, 4)),
    ("decimal(38,10)", pa.decimal128(38, 10), _decimal(38, 10)),
    ("string", pa.string(), _text),
    ("binary", pa.binary(), lambda rng: rng.randbytes(rng.randint(0, 80))),
    ("date", pa.date32(), lambda rng: rng.randint(-700_000, 2_900_000)),
    ("timestamp", pa.timestamp("us", "UTC"), lambda rng: rng.randint(-(2**61), 2**61)),
    ("timestamp_ntz", pa.timestamp("us"), lambda rng: rng.randint(-(2**61), 2**61)),
]


def test_hash_equals_that_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(7)
    values_of = {name: [value(rng) for _ in range(VALUES)] for name, _, value in TYPES}
    arrays = {
        name: pa.array(values_of[name], pa.int32() if name == "date" else None).cast(kind)
        if name == "date"
        else pa.array(values_of[name], kind)
        for name, kind, _ in TYPES
    }
    pq.write_table(pa.table(arrays), tmp_path / "values.parquet")
    # One task preserves the order of the file.
    frame = spark.read.parquet(str(tmp_path)).coalesce(1)
    names = [f"xxhash64(`{name}`) AS `{name}`" for name in arrays]
    hashed = frame.selectExpr(*names).toArrow()
    for name, values in values_of.items():
        data_type = DataType.parse(name)
        assert data_type is not None
        ordinary = [i for i, v in enumerate(values) if v == v]
        ours = hashes_of(edge_of([values[i] for i in ordinary], data_type), data_type)
        spark_hashes = hashed.column(name).to_pylist()
        assert ours == [spark_hashes[i] % (1 << 64) for i in ordinary], name


@pytest.mark.parametrize(
    ("value", "data_type"),
    [(0.1, "float"), (1e300, "float"), (128, "byte"), (2**31, "integer"), (-(2**31) - 1, "date")],
)
def test_values_of_another_type_have_no_hash(value: Any, data_type: str) -> None:
    kind = DataType.parse(data_type)
    assert kind is not None
    assert hashes_of(np.array([value]), kind) == []


def filled(values: set[int], blocks: int) -> Any:
    """Fill a filter with whole numbers as Spark does."""
    words = np.zeros((blocks, 4), np.uint64)
    for value in values:
        hashed = hash_long(value)
        words[(hashed >> 40) & (blocks - 1)] |= blooms._bits(hashed)
    return words


@given(
    st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=200) | st.none(), max_size=8),
    st.sets(st.integers(-(2**63), 2**63 - 1), max_size=5),
)
def test_filter_never_denies_a_member(files: list[set[int] | None], more: set[int]) -> None:
    filters = [
        None if v is None else blooms.folded(filled(v, 64)) if v else np.zeros((0, 4), np.uint64)
        for v in files
    ]
    members = blooms.BloomMembers.of(blooms.joined(filters), LONG)
    for options in [[v] for values in files for v in values or []] + [list(more)]:
        may_match = np.broadcast_to(members.may_match(np.array(options, np.int64)), len(files))
        for values, may in zip(files, may_match, strict=True):
            assert may or (values is not None and not values & set(options))


def test_false_positive_rate_is_as_configured() -> None:
    rng = random.Random(3)
    inserted = {rng.getrandbits(62) for _ in range(5000)}
    words = blooms.folded(filled(inserted, blooms.blocks_for(5000)))
    members = blooms.BloomMembers.of(blooms.joined([words]), LONG)
    absent = [rng.getrandbits(62) for _ in range(20_000)]
    wrong = sum(bool(members.may_match(np.array([v]))[0]) for v in absent if v not in inserted)
    assert blooms.rate(words) <= blooms.RATE
    assert abs(wrong / len(absent) - blooms.rate(words)) < 0.004


def test_filter_ignores_long_lists() -> None:
    members = blooms.BloomMembers.of(blooms.joined([np.zeros((0, 4), np.uint64)]), STRING)
    options = pa.array([b"%d" % i for i in range(blooms.MAX_OPTIONS + 1)], pa.large_binary())
    assert members.may_match(options).tolist() == [True]
    assert members.may_match(options[:2]).tolist() == [False]

"""Bucket hashes compared with the published values, and pruning by buckets."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import PartitionField, evaluate
from tamis.evaluation.domain.buckets import hashed
from tamis.evaluation.domain.edge_values import edge_of
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
)
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.cases.case import compare, is_in, not_in
from tests.differential.buckets import bucket, murmur3
from tests.differential.generate import POOLS

UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        # Values of the Iceberg table specification, appendix B.
        (INTEGER, 34, 2_017_239_379),
        (LONG, 34, 2_017_239_379),
        (decimal(9, 2), Decimal("14.20"), -500_754_589),
        (decimal(38, 2), Decimal("14.20"), -500_754_589),
        (DATE, 17_486, -653_330_422),
        (LONG, 81_068_000_000, -662_762_989),  # a time of day, which is not a Spark type
        (TIMESTAMP, 1_510_871_468_000_000, -2_047_944_441),
        (TIMESTAMP_NTZ, 1_510_871_468_000_000, -2_047_944_441),
        (STRING, "iceberg", 1_210_000_089),
        (BINARY, b"\x00\x01\x02\x03", -188_683_207),
        # Decimals around the ends of a byte: Iceberg hashes the fewest bytes that include the sign.
        (decimal(9, 2), Decimal("1.27"), murmur3(b"\x7f")),
        (decimal(9, 2), Decimal("1.28"), murmur3(b"\x00\x80")),
        (decimal(9, 2), Decimal("-1.28"), murmur3(b"\x80")),
        (decimal(9, 2), Decimal("0.00"), murmur3(b"\x00")),
        (STRING, "", murmur3(b"")),
    ],
)
def test_hash_equals_the_published_value(data_type: DataType, value: Any, expected: int) -> None:
    hashes_of_value = hashed(edge_of([value], data_type), data_type)
    assert hashes_of_value is not None
    assert hashes_of_value.hashes.tolist() == [expected % (1 << 32)]


def test_uuid_text_hashes_as_string_and_as_uuid() -> None:
    hashes_of_texts = hashed(edge_of(["a", UUID], STRING), STRING)
    assert hashes_of_texts is not None
    assert hashes_of_texts.ordinals.tolist() == [0, 1, 1]
    assert hashes_of_texts.hashes.astype(np.int32).tolist()[2] == 1_488_055_340


def test_bytes_of_the_text_of_a_uuid_may_be_in_any_bucket() -> None:
    """The source may be a UUID, which hashes as sixteen bytes and not as its text."""
    as_binary = Call("Cast", (Column(("u",), STRING),), (), BINARY)
    files = pa.table({"partition.p": pa.array(range(16), pa.int32())})
    spec = [PartitionField("u", "bucket[16]", "p")]
    for predicate in (
        Compare(Comparison.EQUAL, as_binary, Literal(UUID.encode(), BINARY)),
        In(as_binary, (UUID.encode(),)),
    ):
        assert evaluate(predicate, files, spec).to_pylist() == ["some"] * 16


@pytest.mark.parametrize("data_type", [DOUBLE, BOOLEAN])
def test_unsupported_types_have_no_hash(data_type: DataType) -> None:
    assert hashed(edge_of([POOLS[data_type][0][0]], data_type), data_type) is None


VALUES = {
    LONG: st.integers(-(1 << 63), (1 << 63) - 1),
    STRING: st.text(max_size=20),
    BINARY: st.binary(max_size=20),
    decimal(38, 10): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: scaled(n, 10)),
    decimal(18, 2): st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: scaled(n, 2)),
}


def scaled(whole: int, scale: int) -> Decimal:
    digits = tuple(map(int, str(abs(whole))))
    return Decimal((int(whole < 0), digits, -scale))


@given(st.sampled_from(list(VALUES)), st.data(), st.integers(1, (1 << 31) - 1))
def test_hashes_of_many_values_equal_single_hashes(
    data_type: DataType, data: st.DataObject, count: int
) -> None:
    values = data.draw(st.lists(VALUES[data_type], min_size=1, max_size=20))
    hashes = hashed(edge_of(values, data_type), data_type)
    assert hashes is not None
    expected = [bucket(value, data_type, count) for value in values]
    assert hashes.buckets(count).tolist()[: len(values)] == expected


c = Column(("c",), LONG)
SPEC = [PartitionField("c", "bucket[8]", "p")]


def verdicts_of(predicate: Expr, **more: Any) -> list[str]:
    files = pa.table({"partition.p": pa.array([*range(8), None, 8, -1], pa.int32()), **more})
    return evaluate(predicate, files, SPEC).to_pylist()


def test_equality_prunes_other_buckets() -> None:
    own_bucket = bucket(34, LONG, 8)
    expected = ["some" if ordinal in (own_bucket, 8, 9, 10) else "none" for ordinal in range(11)]
    assert verdicts_of(compare("=", c, 34)) == expected
    assert verdicts_of(compare("<=>", c, 34)) == expected
    assert verdicts_of(And((compare(">=", c, 34), compare("<", c, 35)))) == expected
    assert verdicts_of(compare(">", c, 34)) == ["some"] * 11
    # In another bucket every value differs from the constant.
    negated = ["all" if verdict == "none" else verdict for verdict in expected]
    assert verdicts_of(compare("<>", c, 34)) == negated
    assert verdicts_of(not_in(c, 34)) == negated
    assert verdicts_of(Not(IsNull(c)))[:9] == ["all"] * 8 + ["some"]


def test_list_needs_a_member_in_the_bucket_and_the_bounds() -> None:
    keys = list(range(100))
    buckets = [bucket(key, LONG, 8) for key in keys]
    by_bucket = [
        "some" if ordinal in buckets[:3] or ordinal > 7 else "none" for ordinal in range(11)
    ]
    assert verdicts_of(is_in(c, *keys[:3])) == by_bucket
    # File i has 10 i … 10 i + 9 and bucket i: only a key that fits both counts.
    lower = pa.array([10 * ordinal for ordinal in range(11)])
    upper = pa.array([10 * ordinal + 9 for ordinal in range(11)])
    odd = keys[1::2]
    for ordinal, verdict in enumerate(
        verdicts_of(is_in(c, *odd), **{"min.c": lower, "max.c": upper})
    ):
        within = [key for key in odd if key // 10 == ordinal]
        if ordinal < 8:
            within = [key for key in within if buckets[key] == ordinal]
        assert verdict == ("some" if within else "none")


def test_bucket_of_an_unsupported_type_proves_nothing() -> None:
    column = Column(("c",), DOUBLE)
    assert verdicts_of(compare("=", column, 1.0)) == ["some"] * 11
    assert verdicts_of(IsNull(column)) == ["some"] * 11


@given(st.randoms(use_true_random=False), st.sampled_from(sorted(map(str, VALUES))))
def test_file_with_the_bucket_of_a_row_is_kept(random: Random, name: str) -> None:
    data_type = next(each for each in VALUES if str(each) == name)
    column, pool = Column(("c",), data_type), POOLS.get(data_type, POOLS[LONG])[0]
    if data_type == decimal(18, 2):
        pool = [Decimal(n).scaleb(-2) for n in (-129, -1, 0, 127, 128)]
    count = random.choice([1, 2, 7, 1000])
    ordinals = pa.array([bucket(value, data_type, count) for value in pool], pa.int32())
    files = pa.table({"partition.p": ordinals})
    spec = [PartitionField("c", f"bucket[{count}]", "p")]
    options = random.sample(pool, k=2)
    verdicts = evaluate(is_in(column, *options), files, spec).to_pylist()
    assert all(verdicts[pool.index(option)] == "some" for option in options)
    for value, verdict in zip(
        pool, evaluate(compare("=", column, options[0]), files, spec), strict=True
    ):
        shares = bucket(value, data_type, count) == bucket(options[0], data_type, count)
        assert verdict.as_py() == ("some" if shares else "none")

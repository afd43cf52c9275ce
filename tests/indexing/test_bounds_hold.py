"""The index invariant: its statistics of a file hold for the rows of the file."""

from __future__ import annotations

import datetime as dt
import io
import math
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tamis.indexing.executor.columns_schema import Leaf, arrow_type
from tamis.indexing.executor.executor_job import typed
from tamis.indexing.executor.footers import FooterReader, Triple

WHOLE = {"byte": 8, "short": 16, "integer": 32, "long": 64}
EXACT = Context(prec=40)


def values_of(spark_type: str) -> st.SearchStrategy[Any]:
    if spark_type in WHOLE:
        limit = 1 << (WHOLE[spark_type] - 1)
        return st.integers(-limit, limit - 1)
    if spark_type.startswith("decimal"):
        precision, scale = Leaf(("c",), spark_type).decimal or (0, 0)
        limit = 10**precision - 1
        return st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-scale, EXACT))
    return {
        "boolean": st.booleans(),
        "float": st.floats(width=32),
        "double": st.floats(),
        "string": st.text(max_size=5) | st.text(min_size=120, max_size=140),
        "binary": st.binary(max_size=5) | st.binary(min_size=120, max_size=140),
        "date": st.dates(),
        "timestamp": st.datetimes(),
        "timestamp_ntz": st.datetimes(),
    }[spark_type]


TYPES = st.sampled_from(
    [
        *WHOLE,
        "boolean",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "decimal(5,2)",
        "decimal(18,4)",
        "decimal(38,10)",
    ]
)


def array_of(values: list[Any], spark_type: str) -> pa.Array:
    kind = pa.string() if spark_type == "string" else arrow_type(Leaf(("c",), spark_type))
    if spark_type == "timestamp":
        values = [None if v is None else v.replace(tzinfo=dt.UTC) for v in values]
    return pa.array(values, kind)


def assert_holds(triple: Triple, leaf: Leaf, values: list[Any]) -> None:
    low, high, nulls = triple
    assert nulls is None or nulls == values.count(None)
    (lower,) = typed([low], leaf).to_pylist()
    (upper,) = typed([high], leaf).to_pylist()
    for value in values:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, dt.datetime) and leaf.type == "timestamp":
            value = value.replace(tzinfo=dt.UTC)
        assert lower is None or lower <= value
        assert upper is None or upper >= value


@given(data=st.data(), spark_type=TYPES, row_group_size=st.integers(1, 8))
def test_bounds_contain_every_value(data: Any, spark_type: str, row_group_size: int) -> None:
    values = data.draw(st.lists(st.none() | values_of(spark_type), max_size=20))
    options = data.draw(
        st.fixed_dictionaries(
            {
                "use_dictionary": st.booleans(),
                "write_statistics": st.sampled_from([True, True, True, False]),
                "store_decimal_as_integer": st.booleans(),
                "data_page_version": st.sampled_from(["1.0", "2.0"]),
            }
        )
    )
    metadata = data.draw(st.sampled_from([{}, {"org.apache.spark.version": "4.1.3"}]))
    table = pa.table({"c": array_of(values, spark_type)}).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=row_group_size, **options)
    leaf = Leaf(("c",), spark_type)
    footer = FooterReader([leaf], True).read(pq.read_metadata(sink))
    assert footer.num_records == len(values)
    assert_holds(footer.columns[0], leaf, values)
    start = 0
    for group in footer.row_groups:
        assert_holds(group.columns[0], leaf, values[start : start + group.num_records])
        start += group.num_records

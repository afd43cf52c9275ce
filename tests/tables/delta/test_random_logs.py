"""Random rows, in logs as different writers record them: no verdict contradicts the rows."""

from __future__ import annotations

import json
import math
import operator as op
import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import verdicts
from tamis.expr.nodes import Compare, Comparison, IsNull, Literal, Not, Or
from tamis.expr.types import DataType
from tests.tables.delta.holding import ordinal, problems
from tests.tables.delta.logs import Log, add, column, struct, struct_field

EPOCH = datetime(1970, 1, 1)
MOMENTS = st.datetimes(datetime(1500, 1, 1), datetime(2300, 1, 1))
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "long": st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1),
    "double": st.sampled_from([0.0, -0.0, math.nan, math.inf, 0.1, -1.5]) | st.floats(),
    "float": st.sampled_from([0.0, -0.0, math.nan]) | st.floats(width=32),
    "decimal(10,2)": st.decimals(-99_999_999, 99_999_999, places=2),
    "decimal(30,4)": st.decimals(-(10**25), 10**25, places=4),
    "string": st.text("ab", max_size=3)
    | st.text("a~\x7fé\ufffd\uffff\U0001f600\U0010ffff", min_size=28, max_size=40),
    "date": st.dates(date(1500, 1, 1), date(2300, 1, 1)),
    "timestamp": MOMENTS.map(lambda each: each.replace(tzinfo=UTC)),
    "timestamp_ntz": MOMENTS,
}
"""The types of columns, and their values."""


def cut(text: str, side: int, writer: str) -> str:
    """Return a bound of a string as a writer cuts it. `side`: 0 for minima."""
    units = text.encode("utf-16-le")
    if side == 0 or writer == "kernel-rs":
        return text[:32]
    if writer == "delta-rs" or len(units) <= 64:
        return text
    if writer == "old":  # Java cuts characters in halves, which become question marks
        head = units[:64].decode("utf-16-le", "surrogatepass")
        rest = units[64:].decode("utf-16-le", "surrogatepass")
        longer = ""
        for each in rest:
            if ord(each) > 0xFFFF or each < "\ufffd":
                break
            longer += each
        return (head + longer + "\ufffd").encode("utf-8", "replace").decode()
    return text[:32] + ("\x7f" if text[32:33] < "\x7f" else "\U0010ffff")


def written(value: Any, name: str, side: int, writer: str) -> Any:
    """Return a bound as a writer writes it in JSON."""
    if isinstance(value, str):
        return cut(value, side, writer)
    if isinstance(value, datetime):
        whole = value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
        text = whole.isoformat(timespec="milliseconds")
        if writer == "delta-rs":
            return value.replace(tzinfo=None).isoformat() + "Z"
        if name == "timestamp_ntz":
            return text
        return text + "Z" if writer == "spark" else shifted(whole, writer)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        if writer == "delta-rs":
            return float(value)
        return str(value)  # Trino
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float) and name == "float" and writer != "delta-rs":
        return float(str(pa.scalar(value, pa.float32()).cast(pa.string()).as_py()))
    return value


def shifted(moment: datetime, writer: str) -> str:
    """Return a moment with an offset whose seconds are cut: 7:52:58 west until 1883."""
    offset = -timedelta(hours=7, minutes=52, seconds=58)
    if moment > datetime(1883, 11, 19):
        offset = -timedelta(hours=8)
    minutes = int(-offset.total_seconds()) // 60
    local = moment + offset
    return f"{local.isoformat(timespec='milliseconds')}-{minutes // 60:02}:{minutes % 60:02}"


WRITERS = ("spark", "old", "kernel-rs", "delta-rs")


def recorded(rows: Sequence[Any], name: str, writer: str) -> dict[str, Any]:
    """Return bounds and counts of one column of a file."""
    values = [each for each in rows if each is not None]
    without_nan = [each for each in values if each == each]
    if writer == "delta-rs":
        values = without_nan  # as in Parquet
    low, high = {}, {}
    if values:
        least = min(without_nan, key=in_order, default=math.nan)
        greatest = max(without_nan, key=in_order, default=math.nan)
        if len(without_nan) < len(values):
            greatest = math.nan  # in Spark the greatest value
        low["c"] = written(least, name, 0, writer)
        high["c"] = written(greatest, name, 1, writer)
    return {"minValues": low, "maxValues": high, "nullCount": {"c": rows.count(None)}}


def in_order(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[list[Any]]]:
    name = draw(st.sampled_from([*TYPES]))
    value = st.none() | TYPES[name]
    rows = st.lists(value, min_size=1, max_size=4)
    return name, draw(st.sampled_from(WRITERS)), draw(st.lists(rows, min_size=1, max_size=4))


@given(tables(), st.data())
def test_no_statistic_or_verdict_contradicts_the_rows(
    table: tuple[str, str, list[list[Any]]], data: st.DataObject
) -> None:
    name, writer, rows = table
    with tempfile.TemporaryDirectory() as folder:
        changes = [{"fromType": "float", "toType": name}] if data.draw(st.booleans()) else []
        field = struct_field("c", name, **({"delta.typeChanges": changes} if changes else {}))
        log = Log(Path(folder), json.dumps(struct(field)))
        log.commit(
            *(
                add(f"f{k}", {"numRecords": len(each)} | recorded(each, name, writer))
                for k, each in enumerate(rows)
            )
        )
        statistics = log.statistics(*(f"f{k}" for k in range(len(rows))))
        files = [[{"c": value} for value in each] for each in rows]
        assert problems(statistics, files, {("c",): name}) == []
        subject = column("c", name)
        constants = [each for file in rows for each in file if each is not None]
        if not constants:
            return
        value = data.draw(st.sampled_from(constants))
        constant = Literal(literal(value, subject.type), subject.type)
        comparison = data.draw(st.sampled_from([*OPERATORS]))
        compared = Compare(comparison, subject, constant)
        null = IsNull(subject)
        predicate, negated, or_null = data.draw(
            st.sampled_from(
                [
                    (compared, False, False),
                    (Not(compared), True, False),
                    (Or((compared, null)), False, True),
                    (null, False, None),
                ]
            )
        )
        for verdict, file in zip(verdicts(predicate, statistics), rows, strict=True):
            truths = []
            for each in file:
                if each is None:
                    truths.append(or_null is not False)
                elif or_null is None:
                    truths.append(False)
                else:
                    pair = (rank(each, subject.type), rank(value, subject.type))
                    truths.append(OPERATORS[comparison](*pair) != negated)
            assert verdict != 0 or not any(truths)
            assert verdict != 2 or all(truths)


OPERATORS = {
    Comparison.EQUAL: op.eq,
    Comparison.LESS: op.lt,
    Comparison.LESS_EQUAL: op.le,
    Comparison.GREATER: op.gt,
    Comparison.GREATER_EQUAL: op.ge,
}


def rank(value: Any, data_type: DataType) -> Any:
    """Return a key in Spark's order."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return ordinal(value, data_type)


def literal(value: Any, data_type: DataType) -> Any:
    if isinstance(value, str | float | Decimal):
        return value
    return ordinal(value, data_type)

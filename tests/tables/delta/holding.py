"""Checking statistics against the rows of files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tamis.expr.types import DataType
from tamis.tables.delta import DeltaStatistics
from tests.tables.delta.logs import column, edges, flags

EPOCH = datetime(1970, 1, 1)


def ordinal(value: Any, data_type: DataType) -> Any:
    """Return a value of a row in the form of the edges of bounds."""
    if isinstance(value, datetime):
        delta = (
            value.astimezone(UTC).replace(tzinfo=None) - EPOCH if value.tzinfo else value - EPOCH
        )
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Decimal) and data_type.is_discrete:
        return int(value.scaleb(data_type.scale or 0))
    return value


def problems(
    statistics: DeltaStatistics,
    rows: Sequence[Sequence[Mapping[str, Any]]],
    columns: Mapping[tuple[str, ...], str],
) -> list[str]:
    """Return where statistics contradict the rows of the files, in the order of the files."""
    found = []
    for place, file in enumerate(rows):
        records = int(statistics.num_records[place])
        if records not in (-1, len(file)):
            found.append(f"file {place}: {records} rows instead of {len(file)}")
    for path, name in columns.items():
        data_type = DataType.parse(name)
        assert data_type is not None
        subject = column(path, name)
        bounds, certain = statistics.bounds(subject), statistics.certain(subject)
        for place, file in enumerate(rows):
            values = [_value(row, path) for row in file]
            known = [
                ordinal(each, data_type)
                for each in values
                if each is not None and not (isinstance(each, float) and math.isnan(each))
            ]
            low, high = edges(bounds, place)
            can_be_null, can_be_value = flags(bounds, place)
            where = f"file {place}, {'.'.join(path)} {name} [{low}, {high}]: "
            if low is not None and any(each < low for each in known):
                found.append(f"{where}{min(known)} is less")
            if high is not None and any(each > high for each in known):
                found.append(f"{where}{max(known)} is greater")
            if None in values and not can_be_null:
                found.append(f"{where}there are NULLs")
            if known and not can_be_value:
                found.append(f"{where}there are values")
            nulls = int(certain.nulls[place if len(certain.nulls) > 1 else 0])
            if nulls not in (-1, values.count(None)):
                found.append(f"{where}{nulls} NULLs instead of {values.count(None)}")
            if certain.attained[place if len(certain.attained) > 1 else 0]:
                missing = [each for each in (low, high) if each is not None and each not in known]
                found += [f"{where}{each} is not a value" for each in missing]
    return found


def known_edges(statistics: DeltaStatistics, path: tuple[str, ...], name: str) -> int:
    """Return how many bounds of a column are known."""
    bounds = statistics.bounds(column(path, name))
    places = range(statistics.num_containers)
    return sum(each is not None for place in places for each in edges(bounds, place))


def _value(row: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = row
    for part in path:
        value = None if value is None else value[part]
    return value

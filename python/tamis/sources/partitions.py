"""The values in the names of Hive directories, such as `region=eu/day=2026-01-31`.

The type of a column follows from all of its values, as Spark infers it:

    every value is                 type
    an integer of 32 bits          int32
    an integer of 64 bits          int64
    a number, integers of 32 bits  double
    a day, such as 2026-01-31      date32
    anything else                  string

Spark also infers DECIMAL and TIMESTAMP, the latter in the time zone of its session. Here such
values are text. `__HIVE_DEFAULT_PARTITION__` is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.sources.errors import SourceError

__all__ = ["Partitions", "partitions_of"]

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Columns of a table that have one value for all rows of some files.

    - `groups`: the number of groups of files. In a directory, a group is a directory.
    - `group`: for each file, its group.
    - `values`: by column, one value per group. Null: the value is NULL.
    """

    groups: int
    group: npt.NDArray[np.int32]
    values: dict[str, pa.Array]


def partitions_of(directories: Sequence[str], table: str) -> Partitions:
    """Return the partition columns of files, and their values.

    Args:
        directories: The directory of each file, below the root.
        table: The table as the user has named it, for errors.

    Raises:
        SourceError: The directories do not have the same columns.

    >>> found = partitions_of(["p=1", "p=1", "p=x%20y"], "t")
    >>> found.group.tolist(), found.values["p"].to_pylist()
    ([0, 0, 1], ['1', 'x y'])
    """
    places: dict[str, int] = {}
    group = [places.setdefault(each, len(places)) for each in directories]
    parsed = [_parsed(directory, table) for directory in places]
    names = [[name for name, _ in each] for each in parsed]
    first = names[0] if names else []
    for directory, each in zip(places, names, strict=True):
        if each != first:
            raise SourceError(
                f"{table}: {directory or 'the root'} has other partition columns "
                f"({', '.join(each) or 'none'}) than other files ({', '.join(first) or 'none'}): "
                "publish each of them as a table of its own"
            )
    if len({name.lower() for name in first}) < len(first):
        raise SourceError(
            f"{table}: {next(iter(places))} names a partition column twice: rename one of them"
        )
    texts = {name: [each[k][1] for each in parsed] for k, name in enumerate(first)}
    values = {name: _typed(each) for name, each in texts.items()}
    return Partitions(len(places), np.array(group, np.int32), values)


def _parsed(directory: str, table: str) -> list[tuple[str, str | None]]:
    columns = []
    for part in directory.split("/") if directory else []:
        name, _, value = part.partition("=")
        if not name or not value:
            raise SourceError(
                f"{table}: the directory {directory} lacks a name or a value: rename it to "
                "name=value"
            )
        columns.append((_unescaped(name), None if value == _NULL else _unescaped(value)))
    return columns


def _unescaped(text: str) -> str:
    """Return a name as `ExternalCatalogUtils.unescapePathName` does: %XX is one character."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _typed(texts: Sequence[str | None]) -> pa.Array:
    """Return the values in the narrowest type that all of them have."""
    known = [text for text in texts if text is not None]
    for data_type, read in _TYPES:
        values = [read(text) for text in known]
        if known and all(value is not None for value in values):
            each = iter(values)
            return pa.array([None if text is None else next(each) for text in texts], data_type)
    return pa.array(texts, pa.string())


def _integer(bits: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        value = int(text) if _INTEGER.fullmatch(text) else None
        return value if value is not None and -(1 << bits - 1) <= value < 1 << bits - 1 else None

    return read


def _double(text: str) -> float | None:
    if _INTEGER.fullmatch(text) and _integer(32)(text) is None:
        return None  # a longer integer may not be a double
    return float(text) if _NUMBER.fullmatch(text) else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


_TYPES: Final[tuple[tuple[Any, Callable[[str], Any]], ...]] = (
    (pa.int32(), _integer(32)),
    (pa.int64(), _integer(64)),
    (pa.float64(), _double),
    (pa.date32(), _day),
)

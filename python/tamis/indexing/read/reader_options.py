"""How ORC, CSV and JSON files and the files of Iceberg are read, whose rows depend on the reader.

The shim describes the reading (ReadFingerprint) when an index is built and again in every question.
An index serves a question only if both descriptions are equal, compared as texts. Those of Iceberg
are made by `field_ids`, and those of Delta tables with column mapping by `mapped_columns`;
`field_binding` compares them.

reading.json, in the generation of such an index, has the description from the build.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tamis.expr.nodes import Column, Expr, walk
from tamis.indexing.format.layout import Pointer
from tamis.indexing.format.store import Store

__all__ = [
    "DELTA",
    "FILE",
    "FILTER_PUSHDOWN",
    "FORMATS",
    "ICEBERG",
    "Reading",
    "difference",
    "loses_rows_to",
    "reading_in",
    "reading_of",
    "refusal",
]

FILE: Final = "reading.json"
#: Formats whose index is built from rows.
FORMATS: Final = ("orc", "csv", "json")
#: The format of an index of the files of an Iceberg table, which may be Parquet, ORC and Avro.
ICEBERG: Final = "iceberg"
#: The format of an index of a Delta table with column mapping, whose files are Parquet.
DELTA: Final = "delta"
#: The confs of Spark that switch off the readers that lose rows; see `loses_rows_to`.
FILTER_PUSHDOWN: Final = {
    "orc": "spark.sql.orc.filterPushdown",
    "json": "spark.sql.json.filterPushdown.enabled",
}
#: Encodings in which a line break is one byte that is not part of any other character. So it does
#: not matter where Spark splits a file.
_ENCODINGS: Final = frozenset(
    ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "iso8859_1", "latin1", "windows-1252"]
)
_LOSING: Final = ("ignorecorruptfiles", "ignoremissingfiles")
_SHOWN: Final = 3


class Reading(msgspec.Struct, frozen=True):
    """Everything that determines which rows and values Spark reads from a file.

    Attributes:
        format: The name of the format.
        schema: Spark's JSON of the data columns.
        partitions: Spark's JSON of the partition columns.
        options: The options of the reader, with keys in lower case.
        confs: Confs of the session that differ from Spark's defaults.
        machine: Versions and settings of the driver.
    """

    format: str
    schema: str
    partitions: str
    options: dict[str, str]
    confs: dict[str, str]
    machine: dict[str, str]

    @property
    def is_of_rows(self) -> bool:
        """Whether all statistics are computed from rows, because footers have none."""
        return self.format != DELTA


def reading_of(text: str | bytes) -> Reading:
    """Parse a reading from its JSON.

    Raises:
        ValueError: The text does not describe a reading.
    """
    try:
        return msgspec.json.decode(text, type=Reading)
    except msgspec.MsgspecError as problem:
        raise ValueError(f"not a description of reader options ({problem})") from problem


def reading_in(store: Store, pointer: Pointer) -> Reading | None:
    """Return the reading for which an index was built; None: Parquet files by names of columns.

    Raises:
        IndexUnusable: The description cannot be read.
    """
    if FILE not in pointer.data:
        return None
    content = b"".join(store.pieces(pointer, pointer.segments[0], FILE))
    try:
        return reading_of(content)
    except ValueError as problem:
        raise store.damaged(f"{FILE}: {problem}") from problem


def refusal(reading: Reading, overlapping: bool) -> str | None:
    """Return why no index can be built for a reading, and what to do; None if it can.

    >>> refusal(Reading("csv", "", "", {"mode": "FAILFAST"}, {}, {}), False)
    'mode FAILFAST makes rows depend on the columns that a query reads: use mode PERMISSIVE'
    """
    if reading.format in (ICEBERG, DELTA):
        return None
    if reading.format not in FORMATS:
        return f"{reading.format} files cannot be indexed, only Parquet, ORC, CSV and JSON files"
    if overlapping:
        return "a partition column is also a column of the files: rename one of them"
    options = reading.options
    if any(options.get(key, "").lower() == "true" for key in _LOSING) or any(
        value.lower() == "true"
        for key, value in reading.confs.items()
        if key.removeprefix("spark.sql.files.").lower() in _LOSING
    ):
        return (
            "Spark is set to skip files that it cannot read: set ignoreCorruptFiles and "
            "ignoreMissingFiles to false, as options of the reader and as confs spark.sql.files.…"
        )
    if reading.format == "orc":
        return None
    # Spark treats any other mode as PERMISSIVE. With these two, a record that does not parse is
    # dropped or fails the query, and whether it parses depends on the columns that the query reads.
    mode = options.get("mode", "PERMISSIVE").upper()
    if mode in ("DROPMALFORMED", "FAILFAST"):
        return (
            f"mode {mode} makes rows depend on the columns that a query reads: use mode PERMISSIVE"
        )
    encoding = options.get("encoding", options.get("charset", "UTF-8"))
    if encoding.lower() not in _ENCODINGS:
        return f"rows of a file in {encoding} depend on where Spark splits it: write it in UTF-8"
    if "singlevariantcolumn" in options:
        return (
            "singleVariantColumn leaves no columns that can have statistics: leave the option out"
        )
    return None


def loses_rows_to(reading: Reading, conjunct: Expr) -> bool:
    """Return whether Spark's reader may drop rows that pass a filter when the filter is pushed.

    JSON: if a key occurs twice in a record, the last value counts, but the parser applies a pushed
    filter to the first. {"a":1,"a":2} is not among the rows where a = 2. ORC: its bounds exclude
    NaN, which Spark considers greater than any number, and its statistics of a field do not count
    rows whose struct is NULL, so that `s.a IS NULL` loses them. If tamis removed such a filter
    because all rows pass it, the query would return these rows, which plain Spark loses.

    >>> from tamis.expr.types import LONG
    >>> a = Column(("a",), LONG)
    >>> [loses_rows_to(Reading(f, "", "", {}, {}, {}), a) for f in ("orc", "csv", "json")]
    [False, False, True]
    """
    pushdown = FILTER_PUSHDOWN.get(reading.format)
    if pushdown is None or reading.confs.get(pushdown, "").lower() == "false":
        return False
    if reading.format == "orc":
        return any(
            isinstance(each, Column) and (each.type.is_floating or len(each.path) > 1)
            for each in walk(conjunct)
        )
    return True


def difference(built: Reading, now: Reading) -> str | None:
    """Return the first few differences between two readings; None if they are equal.

    >>> a = Reading("csv", "", "", {"sep": ";"}, {}, {})
    >>> difference(a, msgspec.structs.replace(a, options={}))
    'option sep was ; and now is not set'
    """
    differences = list(_differences(built, now))
    if not differences:
        return None
    more = f", and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
    return ", ".join(differences[:_SHOWN]) + more


def _differences(built: Reading, now: Reading) -> Iterator[str]:
    if built.format != now.format:
        yield f"the format was {built.format} and now is {now.format}"
    if built.schema != now.schema:
        yield from _columns("column", built.schema, now.schema)
    if built.partitions != now.partitions:
        yield from _columns("partition column", built.partitions, now.partitions)
    yield from _pairs("option ", built.options, now.options)
    yield from _pairs("", built.confs, now.confs)
    yield from _pairs("the driver's ", built.machine, now.machine)


def _pairs(kind: str, built: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*built, *now}):
        if built.get(key) != now.get(key):
            was, is_now = (
                repr(each[key])[1:-1] if key in each else "not set" for each in (built, now)
            )
            yield f"{kind}{key} was {was} and now is {is_now}"


def _columns(kind: str, built: str, now: str) -> Iterator[str]:
    was, is_now = (_types(each) for each in (built, now))
    before = list(_column_differences(kind, was, is_now))
    yield from before or [f"the {kind}s have another order or other properties"]


def _column_differences(
    kind: str, was: Mapping[str, Any], is_now: Mapping[str, Any]
) -> Iterator[str]:
    for name in {**was, **is_now}:
        if name not in is_now:
            yield f"{kind} {name} was removed"
        elif name not in was:
            yield f"{kind} {name} was added"
        elif _type_name(was[name]) != _type_name(is_now[name]):
            yield f"{kind} {name} was {_type_name(was[name])} and now is {_type_name(is_now[name])}"
        elif was[name] != is_now[name]:
            yield f"the {_type_name(was[name])} in {kind} {name} has changed"


def _types(schema: str) -> dict[str, Any]:
    """Return the types of the columns by name; empty if the text is not a schema."""
    try:
        return {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
    except (ValueError, KeyError, TypeError):
        return {}


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind.get("type", ""))

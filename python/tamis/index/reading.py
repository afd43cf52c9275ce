"""How Spark reads files that do not say themselves what they hold: ORC, CSV and JSON.

The shim describes it (ReadFingerprint), when an index is built and again with every question, and
an index serves those questions only that describe the same reading. Nothing is left to judgement:
texts are equal or they are not.

reading.json, in the generation of such an index, holds what was described when it was built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tamis.expr.nodes import Column, Expr, walk
from tamis.index.layout import Pointer
from tamis.index.store import Store

__all__ = [
    "FILE",
    "FORMATS",
    "Reading",
    "difference",
    "loses_rows_to",
    "reading_in",
    "reading_of",
    "refusal",
]

FILE: Final = "reading.json"
#: Formats of which an index is built from rows.
FORMATS: Final = ("orc", "csv", "json")
#: Of a text in these, a line break is one byte that is part of no other character; so it does not
#: matter where Spark splits a file.
_ENCODINGS: Final = frozenset(
    ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "iso8859_1", "latin1", "windows-1252"]
)
_LOSING: Final = ("ignorecorruptfiles", "ignoremissingfiles")
_SHOWN: Final = 3


class Reading(msgspec.Struct, frozen=True):
    """What decides which rows Spark finds in a file.

    schema, partitions: Spark's JSON of the columns.  options: of the reader, in lower case.  confs:
    of the session, where they are not Spark's defaults.  machine: of the driver.
    """

    format: str
    schema: str
    partitions: str
    options: dict[str, str]
    confs: dict[str, str]
    machine: dict[str, str]


def reading_of(text: str | bytes) -> Reading:
    """A reading from its JSON. Raises ValueError."""
    try:
        return msgspec.json.decode(text, type=Reading)
    except msgspec.MsgspecError as problem:
        raise ValueError(f"not the description of a reading ({problem})") from problem


def reading_in(store: Store, pointer: Pointer) -> Reading | None:
    """What the index in force was built for; None: Parquet. Raises IndexUnusable."""
    if FILE not in pointer.data:
        return None
    content = b"".join(store.pieces(pointer, FILE))
    try:
        return reading_of(content)
    except ValueError as problem:
        raise store.damaged(f"{FILE}: {problem}") from problem


def refusal(reading: Reading, overlapping: bool) -> str | None:
    """Why no index can be built for a reading, and what to do; None: it can.

    >>> refusal(Reading("csv", "", "", {"mode": "FAILFAST"}, {}, {}), False)
    'mode FAILFAST makes rows depend on the columns that are asked for: read with mode PERMISSIVE'
    """
    if reading.format not in FORMATS:
        return f"files of {reading.format} are not indexed, only Parquet, ORC, CSV and JSON"
    if overlapping:
        return "a partition column is also a column of the files: give one of them another name"
    options = reading.options
    if any(options.get(key, "").lower() == "true" for key in _LOSING) or any(
        value.lower() == "true"
        for key, value in reading.confs.items()
        if key.removeprefix("spark.sql.files.").lower() in _LOSING
    ):
        return "Spark is to pass over files that it cannot read: unset ignore…Files"
    if reading.format == "orc":
        return None
    # Any other mode is PERMISSIVE to Spark. With these two, a record that does not parse drops out
    # or fails the query, where the columns that the query asks for make it so.
    mode = options.get("mode", "PERMISSIVE").upper()
    if mode in ("DROPMALFORMED", "FAILFAST"):
        return (
            f"mode {mode} makes rows depend on the columns that are asked for: read with mode "
            "PERMISSIVE"
        )
    encoding = options.get("encoding", options.get("charset", "UTF-8"))
    if encoding.lower() not in _ENCODINGS:
        return f"where a file in {encoding} is split decides what is read of it: write it in UTF-8"
    if "singlevariantcolumn" in options:
        return "singleVariantColumn leaves no columns of which statistics could be kept"
    return None


def loses_rows_to(reading: Reading, conjunct: Expr) -> bool:
    """Whether Spark may leave out rows that pass a filter, because it has pushed it into a reader.

    JSON: of a key that repeats in a record the last value counts, but the parser tries a filter on
    the first: {"a":1,"a":2} is not among the rows where a = 2. ORC: its bounds leave out NaN,
    which is greater than any number to Spark. If the filter is dropped, since all rows pass it,
    such rows come back.

    >>> from tamis.expr.types import LONG
    >>> a = Column(("a",), LONG)
    >>> [loses_rows_to(Reading(f, "", "", {}, {}, {}), a) for f in ("orc", "csv", "json")]
    [False, False, True]
    """
    switch = f"spark.sql.{reading.format}.filterPushdown"
    if reading.confs.get(switch, reading.confs.get(f"{switch}.enabled", "")).lower() == "false":
        return False
    if reading.format == "orc":
        return any(isinstance(each, Column) and each.type.is_floating for each in walk(conjunct))
    return reading.format == "json"


def difference(built: Reading, now: Reading) -> str | None:
    """In what two readings differ, the first few things; None: in nothing.

    >>> a = Reading("csv", "", "", {"sep": ";"}, {}, {})
    >>> difference(a, msgspec.structs.replace(a, options={}))
    'option sep was ; and is not set'
    """
    found = list(_differences(built, now))
    if not found:
        return None
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _differences(built: Reading, now: Reading) -> Iterator[str]:
    if built.format != now.format:
        yield f"the format was {built.format} and is {now.format}"
    if built.schema != now.schema:
        yield f"the columns {_columns(built.schema, now.schema)}"
    if built.partitions != now.partitions:
        yield f"the partition columns {_columns(built.partitions, now.partitions)}"
    yield from _pairs("option ", built.options, now.options)
    yield from _pairs("", built.confs, now.confs)
    yield from _pairs("the driver's ", built.machine, now.machine)


def _pairs(kind: str, built: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*built, *now}):
        if built.get(key) != now.get(key):
            was, is_now = (
                repr(each[key])[1:-1] if key in each else "not set" for each in (built, now)
            )
            yield f"{kind}{key} was {was} and is {is_now}"


def _columns(built: str, now: str) -> str:
    """What the first column was and is that differs."""
    was, is_now = (_fields(each) for each in (built, now))
    for before, after in zip([*was, None], [*is_now, None], strict=False):
        if before != after:
            return f"had {_column(before)} where there is {_column(after)}"
    return "were others"


def _fields(schema: str) -> list[Any]:
    try:
        return list(json.loads(schema)["fields"])
    except (ValueError, KeyError, TypeError):
        return []


def _column(field: Any) -> str:
    if field is None:
        return "none"
    kind = field["type"]
    return f"{field['name']} {kind if isinstance(kind, str) else kind.get('type', '')}"

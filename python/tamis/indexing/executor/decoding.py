"""Decoding of a Parquet footer statistic to a value of the table's column, without loss.

A decoder takes the raw statistic (an int, float, bool or bytes) and returns a value in the carrier
of the column: an int for integers, booleans, dates, times and unscaled decimals, else float or
bytes. It returns None if the statistic does not bound what Spark reads. A pair of file type and
table type has a decoder only if Spark reads the same value that the statistic describes.

This module also runs on executors, so it imports only `columns_schema` from this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from tamis.indexing.executor.columns_schema import Leaf

Decoder = Callable[[Any], Any]

_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_MICROS = 1000  # microseconds per millisecond
_INT64_MAX = 2**63 - 1
# Spark may rebase dates and timestamps before these between the Julian and Gregorian calendars.
OLDEST_DATE = -141_427  # 1582-10-15, days since 1970-01-01
OLDEST_MICROS = -2_208_988_800_000_000  # 1900-01-01 00:00 UTC, microseconds since 1970-01-01


def decoder(leaf: Leaf, column: Any) -> tuple[Decoder, Decoder] | None:
    """Return the decoders of the minimum and the maximum; None if the types are not supported.

    Args:
        leaf: The column of the table.
        column: The pyarrow `ColumnSchema` of the leaf in the file.
    """
    if leaf.decimal is not None:
        return _both(_decimal(leaf.decimal, column))
    if leaf.type in _INTEGERS:
        return _both(_integer(leaf.type, column))
    if leaf.type == "string":
        return (cut_lower_text, cut_upper_text) if _is(column, "BYTE_ARRAY", "STRING") else None
    if leaf.type == "binary":
        return (cut_lower, cut_upper) if _is(column, "BYTE_ARRAY", "NONE") else None
    return _both(_plain(leaf.type, column))


def _both(decode: Decoder | None) -> tuple[Decoder, Decoder] | None:
    return None if decode is None else (decode, decode)


def _is(column: Any, physical: str, logical: str) -> bool:
    return bool(column.physical_type == physical and column.logical_type.type == logical)


def _plain(wanted: str, column: Any) -> Decoder | None:
    physical, logical = column.physical_type, column.logical_type.type
    if wanted == "boolean":
        return int if physical == "BOOLEAN" else None
    if wanted == "float":
        return _number if physical == "FLOAT" else None
    if wanted == "double":  # every FLOAT is a DOUBLE
        return _number if physical in ("FLOAT", "DOUBLE") else None
    if wanted == "date":
        return _day if physical == "INT32" and logical == "DATE" else None
    if wanted in ("timestamp", "timestamp_ntz"):
        # INT96 has no order, and Spark reads no other type as a timestamp without converting it
        return _timestamp(wanted, column) if physical == "INT64" else None
    return None


def _number(raw: Any) -> float | None:
    # NaN: the writer included NaN in the bounds, so they bound nothing
    return float(raw) if raw == raw else None


def _day(raw: Any) -> int:
    return int(raw)


def _integer(wanted: str, column: Any) -> Decoder | None:
    bits = {"INT32": 32, "INT64": 64}.get(column.physical_type)
    if bits is None:
        return None
    signed = True
    if column.logical_type.type == "INT":
        annotation = json.loads(column.logical_type.to_json())
        bits, signed = annotation["bitWidth"], annotation["isSigned"]
    elif column.logical_type.type != "NONE":
        return None
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    # Spark widens values. If the column is narrower than the type in the file, it truncates bits.
    if high >= 1 << (_INTEGERS[wanted] - 1):
        return None
    # The mask of the whole physical type: some writers extend the sign of UINT_8 and UINT_16, and
    # Spark reads the bits as they are. Then the value is out of range rather than wrong.
    mask = (1 << (32 if column.physical_type == "INT32" else 64)) - 1

    def decode(raw: Any) -> int | None:
        value = int(raw) if signed else int(raw) & mask
        return value if low <= value <= high else None

    return decode


def is_signed(column: Any) -> bool:
    """Return whether a column of a file is not one of unsigned integers.

    Args:
        column: The pyarrow `ColumnSchema`.
    """
    if column.logical_type.type != "INT":
        return True
    return bool(json.loads(column.logical_type.to_json())["isSigned"])


def _timestamp(wanted: str, column: Any) -> Decoder | None:
    if column.logical_type.type != "TIMESTAMP":
        return None
    annotation = json.loads(column.logical_type.to_json())
    # an instant and a wall-clock time differ by the offset of the session's time zone
    if annotation["isAdjustedToUTC"] != (wanted == "timestamp"):
        return None
    factor = {"milliseconds": _MICROS, "microseconds": 1}.get(annotation["timeUnit"])
    if factor is None:  # nanoseconds: Spark reads them as another type or rejects them
        return None

    def decode(raw: Any) -> int | None:
        value = int(raw) * factor
        return value if -_INT64_MAX <= value <= _INT64_MAX else None

    return decode


def _decimal(wanted: tuple[int, int], column: Any) -> Decoder | None:
    if column.logical_type.type != "DECIMAL":
        return None
    precision, scale = wanted
    if column.scale != scale or column.precision > precision:
        return None
    limit = 10**precision

    def decode(raw: Any) -> int | None:
        if not isinstance(raw, bytes):
            value = int(raw)
        elif raw:  # big-endian two's complement
            value = int.from_bytes(raw, "big", signed=True)
        else:
            return None
        return value if -limit < value < limit else None

    return decode


# --- bytes and text: bounds are truncated to CUT bytes, outward ------------------------------

CUT = 128
_LAST_CODE_POINT = 0x10FFFF


def cut_lower(raw: bytes) -> bytes:
    """Truncate a lower bound: a prefix is less than or equal to the value."""
    return raw[:CUT]


def cut_upper(raw: bytes) -> bytes | None:
    """Truncate an upper bound to the shortest successor of its prefix, above all values with it.

    Returns None if there is no such bound.

    >>> cut_upper(b"a" * 200) == b"a" * 127 + b"b"
    True
    """
    if not raw:
        # pyarrow also returns "" for a footer that has a minimum but no maximum
        return None
    if len(raw) <= CUT:
        return raw
    prefix = raw[:CUT].rstrip(b"\xff")
    # all bytes are 0xFF: there is no successor of this length
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None


def cut_lower_text(raw: bytes) -> bytes:
    """Truncate a lower bound as `cut_lower` does, but to whole characters of UTF-8.

    A minimum that its writer truncated inside a character is not valid UTF-8.
    """
    return raw[: _text_length(raw[:CUT])]


def cut_upper_text(raw: bytes) -> bytes | None:
    """Truncate an upper bound as `cut_upper` does, but to valid UTF-8.

    UTF-8 sorts in the order of its code points, so the successor of a prefix increments its last
    code point.

    >>> cut_upper_text(("é" * 100).encode()).decode() == "é" * 63 + "ê"
    True
    """
    if not raw or _text_length(raw) < len(raw):
        return None
    if len(raw) <= CUT:
        return raw
    prefix = raw[: _text_length(raw[:CUT])]
    text = prefix.decode("utf-8").rstrip(chr(_LAST_CODE_POINT))
    if not text:
        return None
    following = ord(text[-1]) + 1
    if following == 0xD800:  # surrogates are not characters
        following = 0xE000
    return (text[:-1] + chr(following)).encode()


def _text_length(raw: bytes) -> int:
    """Return the number of leading bytes that are whole characters of UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.start
    return len(raw)


# --- the writer --------------------------------------------------------------------------------


class Family(StrEnum):
    """A family of columns whose bounds some writers get wrong."""

    BYTES = "bytes"  # strings and binary
    DECIMAL_FIXED = "decimal in bytes of fixed length"
    DECIMAL_VARIABLE = "decimal in bytes of variable length"
    DECIMAL_INTEGER = "decimal in an integer"
    UNSIGNED = "unsigned integer of 32 bits"
    FLOATING = "floating"
    BOOLEAN = "boolean"
    OTHER = "other"


_DECIMALS = {
    "BYTE_ARRAY": Family.DECIMAL_VARIABLE,
    "FIXED_LEN_BYTE_ARRAY": Family.DECIMAL_FIXED,
    "INT32": Family.DECIMAL_INTEGER,
    "INT64": Family.DECIMAL_INTEGER,
}
_FAMILIES = {
    "BYTE_ARRAY": Family.BYTES,
    "FIXED_LEN_BYTE_ARRAY": Family.BYTES,
    "FLOAT": Family.FLOATING,
    "DOUBLE": Family.FLOATING,
    "BOOLEAN": Family.BOOLEAN,
}


def family_of(column: Any) -> Family:
    """Return the family of a column.

    Args:
        column: The pyarrow `ColumnSchema` of the leaf in the file.
    """
    physical, logical = column.physical_type, column.logical_type
    if logical.type == "DECIMAL":
        return _DECIMALS.get(physical, Family.OTHER)
    if physical == "INT32" and logical.type == "INT":
        annotation = json.loads(logical.to_json())
        # the bits of narrower ones are not negative, so both orders agree
        is_wide = annotation["bitWidth"] == 32 and not annotation["isSigned"]
        return Family.UNSIGNED if is_wide else Family.OTHER
    return _FAMILIES.get(physical, Family.OTHER)


def misstated(created_by: str | None) -> frozenset[Family]:
    """Return the families of columns whose bounds this writer may state wrongly.

    - Polars, and Arrow2 before it, combine the bounds of pages in the order of the stored bytes:
      decimals as unsigned bytes, unsigned integers as signed ones. Pages [-10, 10] and [5, 20] give
      5 and 20. For booleans, a NULL counts as false.
    - Decimals in bytes of variable length: parquet-rs compares them as text. The same is assumed of
      all writers except parquet-mr and parquet-cpp-arrow.
    - parquet-cpp, before it was a part of Arrow 2, takes a NaN among the values for smaller and for
      larger than the value after it.
    - hyparquet writes the bounds of decimals with another scale.

    >>> sorted(misstated("parquet-mr version 1.13.1 (build db4183)"))
    []
    >>> Family.UNSIGNED in misstated("Polars"), Family.BYTES in misstated("Polars")
    (True, False)
    """
    writer = created_by or ""
    wrong: set[Family] = set()
    if not orders_bytes(created_by):
        wrong |= {Family.BYTES, Family.DECIMAL_FIXED, Family.DECIMAL_VARIABLE}
    if not writer.startswith(("parquet-mr", "parquet-cpp-arrow")):
        wrong.add(Family.DECIMAL_VARIABLE)
    if writer.startswith(("Polars", "Arrow2")):
        wrong |= {Family.DECIMAL_FIXED, Family.UNSIGNED, Family.BOOLEAN}
    if writer.startswith("parquet-cpp version"):
        wrong.add(Family.FLOATING)
    if writer.startswith("hyparquet"):
        wrong.add(Family.DECIMAL_INTEGER)
    return frozenset(wrong)


_VERSION = re.compile(r"parquet-mr(?:-\S+)? version (\d+)\.(\d+)")
_GO_VERSION = re.compile(r"github\.com/parquet-go/parquet-go version v?(\d+)\.(\d+)")
_ARROW_GO = re.compile(r"parquet-go version v?\d")
_TRUSTED = (
    "parquet-cpp-arrow",
    "parquet-rs",
    "DuckDB",
    "Polars",
    "Arrow2",
    "parquet-mr compatible Photon",
    "velox",
)


def orders_bytes(created_by: str | None) -> bool:
    """Return whether this writer's bounds of binary values are bounds in unsigned byte order.

    Before parquet-mr 1.8, the buffer of a minimum was shared with the values after it, and the
    statistic could have a later value (PARQUET-251). Up to 1.9, bytes were compared as signed, and
    "é" sorted before "a". Before version 0.22, the minimum of parquet-go could leave out the empty
    string. Unknown writers are trusted no more than these.

    >>> orders_bytes("parquet-mr version 1.13.1 (build db4183)")
    True
    >>> orders_bytes("parquet-mr version 1.8.1"), orders_bytes("impala"), orders_bytes(None)
    (False, False, False)
    """
    if not created_by:
        return False
    version = _VERSION.match(created_by)
    if version is not None:
        if created_by.startswith("parquet-mr version"):
            return (int(version[1]), int(version[2])) >= (1, 10)
        return created_by.startswith("parquet-mr-trino")  # own version numbers, all of them later
    version = _GO_VERSION.match(created_by)
    if version is not None:
        return (int(version[1]), int(version[2])) >= (0, 22)
    return created_by.startswith(_TRUSTED) or _ARROW_GO.match(created_by) is not None


def counts_nulls(created_by: str | None, is_field: bool, row_groups: int = 1) -> bool:
    """Return whether the null counts of this writer are those of the rows.

    Two libraries for Go, which name themselves without a version, count too few. DuckDB up to 0.9,
    which does not state its version, and Kuzu add the NULLs of all row groups before. Unknown
    writers may be relatives of these, so their counts are trusted only in files with one row group.
    Fields of structs are NULL where the struct is, which cudf left out before 23.04, so only known
    writers are trusted for them.

    Args:
        created_by: The writer.
        is_field: Whether the column is a field of a struct.
        row_groups: The number of row groups of the file.

    >>> counts_nulls("parquet-go version 18.0.0", True), counts_nulls("parquet-go", False)
    (True, False)
    >>> counts_nulls(None, False), counts_nulls(None, True), counts_nulls(None, False, 2)
    (True, False, False)
    """
    writer = (created_by or "").strip()
    if writer in ("parquet-go", "DuckDB", "KUZU") or writer.startswith("parquet-go version latest"):
        return False
    is_known = writer.startswith("parquet-mr") or orders_bytes(writer)
    return is_known or (not is_field and row_groups == 1)


def counts_nulls_of_dictionaries(created_by: str | None) -> bool:
    """Return whether the null counts of this writer hold for dictionary-encoded chunks.

    Polars before 2.0 does not state its version. Up to 0.20.13, it counts the NULLs of the
    dictionary, which has none; from 1.38 on, it multiplies the count by the number of pages
    (polars#29321).

    >>> counts_nulls_of_dictionaries("Polars (python) version 2.0.0 (build 1)")
    True
    >>> counts_nulls_of_dictionaries("Polars")
    False
    """
    writer = (created_by or "").strip()
    return writer != "Polars" and not writer.startswith("Arrow2")


def orders_dictionaries(created_by: str | None) -> bool:
    """Return whether this writer's bounds of a dictionary-encoded chunk are in value order.

    fastparquet writes the categories of pandas with a dictionary. Its bounds of ordered categories
    follow the order of the categories: with 1 < 3 < 2 the bounds are 1 and 2.

    >>> orders_dictionaries("fastparquet-python version 2026.9.0 (build 0)")
    False
    """
    return not (created_by or "").startswith("fastparquet")


_CPP_VERSION = re.compile(r"parquet-cpp-arrow version (\d+)\.")
_FIRST_RIGHT_CPP = 12


def counts_dictionaries(created_by: str | None, metadata: Any) -> bool:
    """Return whether this writer's statistics of dictionary-encoded text include all rows.

    Up to version 5, parquet-cpp-arrow stated that Arrow dictionaries have no NULL (ARROW-12513),
    and up to 10 it ignored all but the first batch (GH-15042). The Arrow schema in the file, if
    there is one, distinguishes them from text that only the file encodes with a dictionary.

    Args:
        created_by: The writer.
        metadata: The pyarrow `FileMetaData`.
    """
    version = _CPP_VERSION.match(created_by or "")
    is_old = (created_by or "").startswith("parquet-cpp version") or (
        version is not None and int(version[1]) < _FIRST_RIGHT_CPP
    )
    if not is_old:
        return True
    if b"ARROW:schema" not in (metadata.metadata or {}):
        return False
    return not any(_has_dictionary(field.type) for field in metadata.schema.to_arrow_schema())


def _has_dictionary(kind: Any) -> bool:
    if str(kind).startswith("dictionary<"):
        return True
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


def reads_old_dates_unchanged(metadata: dict[bytes, bytes] | None) -> bool:
    """Return whether Spark reads dates before 1582 and times before 1900 of this file unchanged.

    Files written by Spark 2, or by Spark 3 in LEGACY mode, use the Julian calendar. For files that
    do not state their writer, the session's `datetimeRebaseModeInRead` decides.

    >>> reads_old_dates_unchanged({b"org.apache.spark.version": b"4.1.3"})
    True
    """
    if not metadata:
        return False
    version = metadata.get(b"org.apache.spark.version", b"").decode("ascii", "replace")
    major = version.partition(".")[0]
    if not major.isdigit() or int(major) < 3:
        return False
    return (
        b"org.apache.spark.legacyDateTime" not in metadata
        and b"org.apache.spark.legacyINT96" not in metadata
    )

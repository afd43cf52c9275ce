"""From a statistic in a Parquet footer to a value of the table's column, where nothing is lost.

A decoder takes the raw statistic (an int, float, bool or bytes) and gives a value in the carrier
of the column (an int for all integers, dates, times and unscaled decimals, else float or bytes),
or None where the statistic does not bound what Spark reads. There is a decoder only for pairs of
file type and table type of which Spark reads the same value that the statistic speaks of.

Imports of this package: `leaves` only, because it also runs on executors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tamis.index.leaves import Leaf

Decoder = Callable[[Any], Any]

_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_MICROS = 1000  # in a millisecond
_INT64_MAX = 2**63 - 1
# The first day of the Gregorian calendar, as Spark's files tell it from older ones.
OLDEST_DATE = -141_427  # 1582-10-15, days since 1970-01-01
OLDEST_MICROS = -2_208_988_800_000_000  # 1900-01-01 00:00 UTC, microseconds since 1970-01-01


def decoder(leaf: Leaf, column: Any) -> tuple[Decoder, Decoder] | None:
    """Decoders of the minimum and the maximum, or None: the pair of types is not understood.

    `column`: the pyarrow `ColumnSchema` of the leaf in the file.
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
        # INT96 has no order, and no other type is read as a timestamp without a conversion
        return _timestamp(wanted, column) if physical == "INT64" else None
    return None


def _number(raw: Any) -> float | None:
    # NaN: its writer did not leave NaN out of the bounds, so they bound nothing
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
    # Spark widens; a column that is narrower than the file's type it reads by cutting bits off
    if high >= 1 << (_INTEGERS[wanted] - 1):
        return None
    mask = (1 << bits) - 1

    def decode(raw: Any) -> int | None:
        value = int(raw) if signed else int(raw) & mask
        return value if low <= value <= high else None

    return decode


def _timestamp(wanted: str, column: Any) -> Decoder | None:
    if column.logical_type.type != "TIMESTAMP":
        return None
    annotation = json.loads(column.logical_type.to_json())
    # an instant and a wall-clock time differ by the session's time zone
    if annotation["isAdjustedToUTC"] != (wanted == "timestamp"):
        return None
    factor = {"milliseconds": _MICROS, "microseconds": 1}.get(annotation["timeUnit"])
    if factor is None:  # nanoseconds: Spark reads them as another type, or not at all
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


# --- bytes and text: bounds are cut to CUT bytes, outward ------------------------------------

CUT = 128
_LAST_CODE_POINT = 0x10FFFF


def cut_lower(raw: bytes) -> bytes:
    """A prefix is less than or equal to what it is a prefix of."""
    return raw[:CUT]


def cut_upper(raw: bytes) -> bytes | None:
    """The shortest successor of a prefix: every value that begins with the prefix is below it.

    >>> cut_upper(b"a" * 200) == b"a" * 127 + b"b"
    True
    """
    if not raw:
        # "" is also what a footer with a minimum and no maximum looks like from here
        return None
    if len(raw) <= CUT:
        return raw
    prefix = raw[:CUT].rstrip(b"\xff")
    # all bytes 0xFF: no successor of this length
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None


def cut_lower_text(raw: bytes) -> bytes:
    """As `cut_lower`, and valid UTF-8, which a minimum cut inside a character is not."""
    return raw[: _text_length(raw[:CUT])]


def cut_upper_text(raw: bytes) -> bytes | None:
    """As `cut_upper`, and valid UTF-8.

    UTF-8 sorts as its code points do, so the successor of a prefix raises its last code point.

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
    """How many bytes from the start are whole characters in UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.start
    return len(raw)


# --- who wrote it ------------------------------------------------------------------------------

_VERSION = re.compile(r"parquet-mr(?:-\S+)? version (\d+)\.(\d+)")
_TRUSTED = (
    "parquet-cpp-arrow",
    "parquet-rs",
    "DuckDB",
    "Polars",
    "Arrow2",
    "parquet-go",
    "github.com/parquet-go/parquet-go",
    "github.com/segmentio/parquet-go",
    "parquet-mr compatible Photon",
    "velox",
)


def orders_bytes(created_by: str | None) -> bool:
    """Whether bounds of bytes by this writer are bounds in unsigned order.

    Before parquet-mr 1.8 the buffer of a minimum was shared with the values that came after it, so
    that the statistic could hold a later value (PARQUET-251); up to 1.9 bytes were compared as
    signed, so that "é" sorted before "a". Numbers were always right. Writers that we do not know
    get no more trust than those.

    >>> orders_bytes("parquet-mr version 1.13.1 (build db4183)")
    True
    >>> orders_bytes("parquet-mr version 1.8.1"), orders_bytes("impala"), orders_bytes(None)
    (False, False, False)
    """
    if not created_by:
        return False
    found = _VERSION.match(created_by)
    if found is not None:
        if created_by.startswith("parquet-mr version"):
            return (int(found[1]), int(found[2])) >= (1, 10)
        return created_by.startswith("parquet-mr-trino")  # counts its own versions, all later
    return created_by.startswith(_TRUSTED)


def orders_dictionaries(created_by: str | None) -> bool:
    """Whether bounds of a chunk with a dictionary are bounds in the order of its values.

    fastparquet writes pandas' categories with a dictionary, and takes for the minimum of ordered
    ones the value that their own order has first: of 1 < 3 < 2 the bounds are 1 and 2.

    >>> orders_dictionaries("fastparquet-python version 2026.9.0 (build 0)")
    False
    """
    return not (created_by or "").startswith("fastparquet")


def reads_old_dates_unchanged(metadata: dict[bytes, bytes] | None) -> bool:
    """Whether Spark reads dates before 1582 and times before 1900 of this file as they stand.

    A file of Spark 2, or of Spark 3 in LEGACY mode, counts them in the Julian calendar; of one
    that does not say, the session's `datetimeRebaseModeInRead` decides.

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

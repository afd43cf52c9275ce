"""DuckDB's types, as far as tamis understands their values.

Every type that is understood lies on a *line*, which is an order of values that its types share:

    line       types                                     a value is
    NUMBER     integers, DECIMAL, FLOAT, DOUBLE          the number itself
    CALENDAR   DATE, TIMESTAMP, _S, _MS, _NS             microseconds since 1970, without a zone
    INSTANT    TIMESTAMP WITH TIME ZONE                  microseconds since 1970, UTC
    TEXT       VARCHAR without collation                 its UTF-8 bytes
    BYTES      BLOB, UUID                                its bytes
    TRUTH      BOOLEAN                                   false < true

A cast *keeps the value* if source and target lie on one line and the target contains every value of
the source. Such a cast needs no node of its own: it only affects the type of the other side.

>>> keeps_value(LogicalType("INTEGER"), LogicalType("DECIMAL", 11, 1))
True
>>> keeps_value(LogicalType("BIGINT"), LogicalType("DOUBLE"))
False
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from tamis.expr import types
from tamis.expr.types import MAX_PRECISION, DataType, decimal
from tamis.wire.duckdb.document import NotUnderstood, children, mapping, text

__all__ = ["MICROSECONDS_PER_DAY", "Line", "LogicalType", "keeps_value", "logical_type"]

MICROSECONDS_PER_DAY: Final = 86_400_000_000


class Line(Enum):
    """An order of values. Only values on one line are comparable."""

    NUMBER = "number"
    CALENDAR = "calendar"
    INSTANT = "instant"
    TEXT = "text"
    BYTES = "bytes"
    TRUTH = "truth"


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A type, by DuckDB's name.

    `width` and `scale` are those of a DECIMAL. The `width` of a BLOB is the length of its values if
    they all have the same. `fields` are those of a STRUCT.
    """

    id: str
    width: int | None = None
    scale: int | None = None
    fields: tuple[tuple[str, LogicalType], ...] = ()

    @property
    def line(self) -> Line | None:
        """The line of the type, None if the type is not understood."""
        return Line.NUMBER if self.id == "DECIMAL" else _LINES.get(self.id)

    @property
    def data_type(self) -> DataType:
        """The type as which tamis evaluates the values. Raises NotUnderstood if there is none."""
        if self.id == "DECIMAL" and self.width is not None and self.scale is not None:
            return decimal(self.width, self.scale)
        data_type = _DATA_TYPES.get(self.id)
        if data_type is None:
            raise NotUnderstood
        return data_type

    @property
    def step(self) -> Fraction | None:
        """The value on the line of the stored integer 1, None if values are not stored as integers.

        TIMESTAMP_NS counts as stored in microseconds, like the other timestamps (see nanoseconds).
        """
        if self.id == "DECIMAL":
            return Fraction(1, 10 ** (self.scale or 0))
        if self.id == "DATE":
            return Fraction(MICROSECONDS_PER_DAY)
        if self.id in _RANGES or self.line in (Line.CALENDAR, Line.INSTANT):
            return Fraction(1)
        return None

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest stored integer."""
        if self.id == "DECIMAL":
            # More than the digits allow: see DataType.domain.
            bits = 64 if self.data_type.is_discrete else 128
            return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return _RANGES.get(self.id, self.data_type.domain)

    @property
    def is_floating(self) -> bool:
        return self.id in ("FLOAT", "DOUBLE")


def _range(bits: int, *, signed: bool) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


_RANGES: Final = {
    "TINYINT": _range(8, signed=True),
    "SMALLINT": _range(16, signed=True),
    "INTEGER": _range(32, signed=True),
    "BIGINT": _range(64, signed=True),
    "HUGEINT": _range(128, signed=True),
    "UTINYINT": _range(8, signed=False),
    "USMALLINT": _range(16, signed=False),
    "UINTEGER": _range(32, signed=False),
    "UBIGINT": _range(64, signed=False),
    "UHUGEINT": _range(128, signed=False),
}

#: Unsigned integers use the next wider type. Integers of 128 bits use the widest decimal, which has
#: 38 digits. Values with more digits are not known in statistics, and cannot be constants.
_DATA_TYPES: Final = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.BYTE,
    "SMALLINT": types.SHORT,
    "INTEGER": types.INTEGER,
    "BIGINT": types.LONG,
    "HUGEINT": decimal(MAX_PRECISION, 0),
    "UTINYINT": types.SHORT,
    "USMALLINT": types.INTEGER,
    "UINTEGER": types.LONG,
    "UBIGINT": decimal(20, 0),
    "UHUGEINT": decimal(MAX_PRECISION, 0),
    "FLOAT": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.STRING,
    "BLOB": types.BINARY,
    "UUID": types.BINARY,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP_NTZ,
    "TIMESTAMP_S": types.TIMESTAMP_NTZ,
    "TIMESTAMP_MS": types.TIMESTAMP_NTZ,
    "TIMESTAMP_NS": types.TIMESTAMP_NTZ,
    "TIMESTAMP WITH TIME ZONE": types.TIMESTAMP,
}

_CALENDAR: Final = ("DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS")

_LINES: Final = {
    **dict.fromkeys((*_RANGES, "FLOAT", "DOUBLE"), Line.NUMBER),
    **dict.fromkeys(_CALENDAR, Line.CALENDAR),
    "TIMESTAMP WITH TIME ZONE": Line.INSTANT,
    "VARCHAR": Line.TEXT,
    "BLOB": Line.BYTES,
    "UUID": Line.BYTES,
    "BOOLEAN": Line.TRUTH,
}

#: A floating-point type contains all integers of this many bits.
_WHOLE_BITS: Final = {"FLOAT": 24, "DOUBLE": 53}


def keeps_value(source: LogicalType, target: LogicalType) -> bool:
    """Return whether a cast keeps every value of the source or fails, but never changes one."""
    if source == target:
        return source.line is not None
    if source.line is None or source.line is not target.line:
        return False
    if source.line is Line.NUMBER:
        return _keeps_number(source, target)
    # A day or a coarser unit is a point on the finer scale. The reverse cast rounds.
    return source.line is Line.CALENDAR and (
        _CALENDAR.index(source.id) < _CALENDAR.index(target.id)
    )


def _keeps_number(source: LogicalType, target: LogicalType) -> bool:
    if source.id == "FLOAT":
        return target.id == "DOUBLE"
    if source.id == "DOUBLE":
        return False
    if target.is_floating:
        bits = _WHOLE_BITS[target.id]
        return source.id in _RANGES and max(map(abs, source.range)) <= 1 << bits
    if source.id == "DECIMAL":
        assert source.width is not None
        assert source.scale is not None
        digits = source.width - source.scale
        if target.id == "DECIMAL":
            assert target.width is not None
            assert target.scale is not None
            return target.scale >= source.scale and target.width - target.scale >= digits
        least, greatest = target.range
        return source.scale == 0 and least <= 1 - 10**digits and 10**digits - 1 <= greatest
    least, greatest = source.range
    if target.id == "DECIMAL":
        assert target.width is not None
        assert target.scale is not None
        whole_digits: int = target.width - target.scale
        return max(-least, greatest) < int(10**whole_digits)
    return target.range[0] <= least and greatest <= target.range[1]


def logical_type(node: object) -> LogicalType:
    """Read a type: {"id": "DECIMAL", "type_info": {"width": 9, "scale": 2, …}}.

    A type with information that changes its meaning, such as a collation, gets a name that is not
    understood.

    Raises:
        NotUnderstood: The node is not a type.
    """
    document = mapping(node)
    name, info = text(document.get("id")), document.get("type_info")
    if info is None:
        return LogicalType(name)
    details = mapping(info)
    if name == "DECIMAL":
        return _decimal(details)
    if name == "STRUCT":
        fields = (mapping(each) for each in children(details.get("child_types")))
        named = ((text(each.get("first")), logical_type(each.get("second"))) for each in fields)
        return LogicalType(name, fields=tuple(named))
    if name == "VARCHAR" and details.get("collation") == "" and not details.get("alias"):
        return LogicalType(name)
    return LogicalType(f"{name} with {text(details.get('type', 'information'))}")


def _decimal(details: Any) -> LogicalType:
    width, scale = details.get("width"), details.get("scale")
    if type(width) is not int or type(scale) is not int:
        raise NotUnderstood
    if not 0 <= scale <= width <= MAX_PRECISION or width < 1:
        raise NotUnderstood
    return LogicalType("DECIMAL", width, scale)

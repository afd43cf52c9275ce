"""Decodes and encodes the footer of a Parquet file, to write footers that no library writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_INTEGERS, _DOUBLE, _BINARY, _LIST, _STRUCT = (4, 5, 6), 7, 8, 9, 12

#: A struct: for each field number, the type and the value.
Struct = dict[int, tuple[int, Any]]


def statistics_of(footer: Struct, row_group: int, column: int) -> Struct:
    """Return the statistics of a column chunk, which may be changed.

    The fields are 5: max_value, 6: min_value, 7: is_max_value_exact, 8: is_min_value_exact.
    """
    for field, place in ((4, row_group), (1, column)):
        footer = footer[field][1][1][place]
    statistics: Struct = footer[3][1][12][1]
    return statistics


def read_footer(path: Path) -> Struct:
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    return _Decoder(content[-8 - length :]).struct()


def write_footer(path: Path, footer: Struct) -> None:
    """Replace the footer of a file."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    encoded = _struct(footer)
    tail = len(encoded).to_bytes(4, "little") + b"PAR1"
    path.write_bytes(content[: len(content) - 8 - length] + encoded + tail)


class _Decoder:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self) -> int:
        result = shift = 0
        while True:
            byte = self.take(1)[0]
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    def struct(self) -> Struct:
        fields: Struct = {}
        field = 0
        while header := self.take(1)[0]:
            field = field + (header >> 4) if header >> 4 else self.number() // 2
            fields[field] = (header & 15, self.value(header & 15))
        return fields

    def value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.take(1)
        if kind in _INTEGERS:
            return self.number()  # in zigzag form
        if kind == _DOUBLE:
            return self.take(8)
        if kind == _BINARY:
            return self.take(self.number())
        if kind == _LIST:
            header = self.take(1)[0]
            count = self.number() if header >> 4 == 15 else header >> 4
            element = header & 15
            read = self.take if element in (1, 2) else self.value
            return element, [read(1 if element in (1, 2) else element) for _ in range(count)]
        assert kind == _STRUCT
        return self.struct()


def _number(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def _struct(fields: Struct) -> bytes:
    encoded = b""
    before = 0
    for field, (kind, value) in sorted(fields.items()):
        stated = (1 if value else 2) if kind in (1, 2) else kind
        encoded += bytes([(field - before) << 4 | stated])
        encoded += b"" if kind in (1, 2) else _value(kind, value)
        before = field
    return encoded + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _number(value)
    if kind == _BINARY:
        return _number(len(value)) + value
    if kind == _LIST:
        element, values = value
        head = (
            bytes([len(values) << 4 | element])
            if len(values) < 15
            else bytes([0xF0 | element]) + _number(len(values))
        )
        return head + b"".join(v if element in (1, 2) else _value(element, v) for v in values)
    return _struct(value) if kind == _STRUCT else bytes(value)

"""The arguments of a table function, in the types that it declares.

Options of Spark are texts, so arguments arrive as JSON: `{"positional": […], "named": {…}}`. What
JSON lacks is written as text or as a number:

    binary             base64
    decimal            text, or a whole number
    date, timestamp    ISO 8601; a timestamp without a zone is UTC if the type has a zone
    duration           whole microseconds
    interval           [months, days, nanoseconds]
    NaN, infinities    NaN, Infinity, -Infinity

A function declares the positional arguments first. The metadata of the fields says which arguments
are named, take any type or may be repeated.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from tamis.errors import some_of
from tamis.remote.vgi.protocol.framing import READ_FAILURES, stream_bytes
from tamis.remote.vgi.transports.connection import one_line

__all__ = ["Arguments", "UnusableArguments", "argument_bytes", "flat_arguments", "json_arguments"]

_SHOWN: Final = 20


class UnusableArguments(ValueError):
    """The arguments do not fit the function."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Values of arguments, as JSON has them."""

    positional: Sequence[Any] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> Arguments:
        """Return the arguments of an option.

        Raises:
            UnusableArguments: The text is not in the form of the option.

        >>> Arguments.parse('{"positional": [7], "named": {"batch_size": 100}}').named
        {'batch_size': 100}
        """
        try:
            parsed = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            raise UnusableArguments(f"the option 'arguments' is not JSON ({error})") from error
        match parsed:
            case list():
                return Arguments(parsed)
            case dict() if parsed.keys() <= {"positional", "named"}:
                positional, named = parsed.get("positional", []), parsed.get("named", {})
                if isinstance(positional, list) and isinstance(named, dict):
                    return Arguments(positional, named)
        raise UnusableArguments('the option \'arguments\' is not {"positional": […], "named": {…}}')


def json_arguments(arguments: Sequence[Any] | Mapping[str, Any]) -> str:
    """Return the option for a list of positional arguments, or for a dict.

    A dict has the keys `positional` and `named`, or it has named arguments only.

    Raises:
        TypeError: A value has a type that no argument has.

    >>> json_arguments([3, b"x"]), json_arguments({"n": 3})
    ('{"positional": [3, "eA=="], "named": {}}', '{"positional": [], "named": {"n": 3}}')
    """
    if isinstance(arguments, Mapping):
        is_whole = bool(arguments) and arguments.keys() <= {"positional", "named"}
        positional = list(arguments.get("positional", ())) if is_whole else []
        named = dict(arguments.get("named", {}) if is_whole else arguments)
    else:
        positional, named = list(arguments), {}
    return json.dumps({"positional": positional, "named": named}, default=_as_json)


def _as_json(value: object) -> object:
    match value:
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value // timedelta(microseconds=1)
        case tuple():
            return list(value)
    raise TypeError(f"an argument cannot be a {type(value).__name__}")


def argument_bytes(given: Arguments, declared: pa.Schema) -> bytes:
    """Return the arguments of a call: one row of a struct.

    Raises:
        UnusableArguments: An argument is missing, unknown or has a value of another type.
    """
    kinds = {field.name: field.metadata or {} for field in declared}
    named = [each for each in declared if kinds[each.name].get(b"vgi_arg") == b"named"]
    positional = [each for each in declared if kinds[each.name].get(b"vgi_arg") != b"named"]
    if any(kinds[each.name].get(b"vgi_type") == b"table" for each in positional):
        raise UnusableArguments("the function takes a table, which tamis does not send")
    is_repeated = bool(positional) and _is_set(kinds[positional[-1].name], b"vgi_varargs")
    if len(given.positional) > len(positional) and not is_repeated:
        names = some_of([each.name for each in positional], _SHOWN)
        raise UnusableArguments(
            f"{len(given.positional)} positional arguments were given, but the function has "
            f"{len(positional)}: {names}"
        )
    fields, columns = [], []

    def add(name: str, declared_as: pa.Field, value: Any) -> None:
        is_any = kinds[declared_as.name].get(b"vgi_type") == b"any"
        column = _argument(declared_as.name, None if is_any else declared_as.type, value)
        fields.append(pa.field(name, column.type))
        columns.append(column)

    for place, value in enumerate(given.positional):
        add(f"positional_{place}", positional[min(place, len(positional) - 1)], value)
    for each in positional[len(given.positional) :]:
        if b"vgi_default" not in kinds[each.name] and not _is_set(kinds[each.name], b"vgi_varargs"):
            raise UnusableArguments(f"the positional argument {each.name} is missing")
    by_name = {each.name: each for each in named}
    for name, value in given.named.items():
        if name not in by_name:
            known = some_of(sorted(by_name), _SHOWN)
            raise UnusableArguments(
                f"there is no named argument {name}. The named arguments are {known}"
            )
        add(f"named_{name}", by_name[name], value)
    return _struct_bytes(fields, columns)


def flat_arguments(row: pa.RecordBatch) -> bytes:
    """Return the arguments of a call, given those of a scan function.

    Args:
        row: One column per argument: `arg_0`, … for positional ones, and the names of the others.
    """
    fields, columns = [], []
    for place, each in enumerate(row.schema):
        prefix, _, number = each.name.partition("_")
        is_positional = prefix == "arg" and number.isdecimal()
        name = f"positional_{number}" if is_positional else f"named_{each.name}"
        fields.append(pa.field(name, each.type))
        columns.append(row.column(place))
    return _struct_bytes(fields, columns)


def _struct_bytes(fields: list[pa.Field], columns: list[pa.Array]) -> bytes:
    struct = (
        pa.StructArray.from_arrays(columns, fields=fields)
        if fields
        else pa.array([{}], pa.struct([]))
    )
    return stream_bytes(pa.RecordBatch.from_arrays([struct], names=["args"]))


def _argument(name: str, data_type: Any, value: Any) -> pa.Array:
    """Return a value in the declared type, or in its own if any type is accepted."""
    try:
        if data_type is None:
            return pa.array([value])
        return pa.array([_native(value, data_type)], data_type)
    except (*READ_FAILURES, TypeError, AttributeError, binascii.Error) as error:
        wanted = "of a type that Arrow has" if data_type is None else f"of the type {data_type}"
        why = "" if isinstance(error, AttributeError) else f" ({one_line(error)})"
        raise UnusableArguments(f"the argument {name} is not {wanted}{why}") from error


def _native(value: Any, data_type: Any) -> Any:
    """Return the value in the form from which pyarrow makes a value of this type.

    Raises:
        ValueError, TypeError: The value does not fit.
    """
    types = pa.types
    if value is None:
        return None
    if isinstance(value, bool) is not types.is_boolean(data_type):
        raise TypeError("it is a boolean" if isinstance(value, bool) else "it is not a boolean")
    if types.is_integer(data_type) and not isinstance(value, int):
        raise TypeError("it is not a whole number")
    if types.is_decimal(data_type):
        if isinstance(value, float):
            raise TypeError("write a decimal as text")
        return Decimal(value)
    if types.is_binary(data_type) or types.is_large_binary(data_type):
        return base64.b64decode(value, validate=True)
    if types.is_date(data_type):
        return date.fromisoformat(value)
    if types.is_timestamp(data_type):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None and data_type.tz is None:
            raise TypeError("write the timestamp without a time zone")
        return moment
    if types.is_duration(data_type):
        return timedelta(microseconds=value)
    if types.is_interval(data_type):
        return pa.MonthDayNano(value)
    if types.is_list(data_type) or types.is_large_list(data_type):
        return [_native(each, data_type.value_type) for each in value]
    if types.is_struct(data_type):
        return {each.name: _native(value.get(each.name), each.type) for each in data_type}
    if types.is_map(data_type):
        return list(value.items())
    return value


def _is_set(metadata: Mapping[bytes, bytes], key: bytes) -> bool:
    return metadata.get(key, b"").lower() in (b"true", b"1")

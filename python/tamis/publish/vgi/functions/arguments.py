"""The arguments of calls: a struct in a request, flat columns in the description of a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tamis.publish.vgi.functions.table_function import Argument, TableFunction
from tamis.publish.vgi.refusals import Refused
from tamis.remote.vgi.protocol.framing import batch_of, stream_bytes

__all__ = ["arguments_schema", "given_arguments", "scan_arguments"]


def arguments_schema(arguments: Sequence[Argument]) -> bytes:
    """Return the declaration of the arguments, positional ones first."""
    fields = [_field(each) for each in sorted(arguments, key=lambda each: each.is_named)]
    body: bytes = pa.schema(fields).serialize().to_pybytes()
    return body


def _field(argument: Argument) -> pa.Field:
    metadata = {"vgi_doc": argument.doc}
    if argument.is_named:
        metadata["vgi_arg"] = "named"
    if argument.default is not None:
        metadata["vgi_default"] = json.dumps(argument.default)
    return pa.field(argument.name, argument.type, metadata=metadata)


def given_arguments(function: TableFunction, body: bytes) -> Mapping[str, Any]:
    """Return one value per declared argument.

    Args:
        function: The function.
        body: A stream with one row, whose column `args` is a struct of `positional_0`, … and
            `named_<name>`.

    Raises:
        Refused: An argument is missing, unknown or of another type.
        MalformedMessage: The body is not an Arrow stream.
    """
    batch = batch_of(body, "the arguments")
    if batch.num_rows != 1 or batch.schema.names not in (["args"], []):
        raise Refused("the arguments are not one struct named args")
    struct = batch.column(0) if batch.num_columns else pa.array([{}], pa.struct([]))
    if not pa.types.is_struct(struct.type):
        raise Refused("the arguments are not a struct")
    given = {field.name: struct.field(place) for place, field in enumerate(struct.type)}
    values = {}
    positional = (each for each in function.arguments if not each.is_named)
    keys = {each.name: f"positional_{place}" for place, each in enumerate(positional)}
    for argument in function.arguments:
        key = keys.get(argument.name, f"named_{argument.name}")
        column = given.pop(key, None)
        if column is None:  # positional arguments may be given by name
            column = given.pop(f"named_{argument.name}", None)
        values[argument.name] = _value(function, argument, column)
    if given:
        raise Refused(f"{function.name} has no argument {min(given)[:60]!r}")
    return values


def _value(function: TableFunction, argument: Argument, column: pa.Array | None) -> Any:
    value = None if column is None else _converted(function, argument, column)
    if value is None and argument.default is None:
        raise Refused(f"{function.name} needs the argument {argument.name!r}")
    return argument.default if value is None else value


def _converted(function: TableFunction, argument: Argument, column: pa.Array) -> Any:
    types = pa.types
    kinds = (
        types.is_integer,
        lambda each: types.is_string(each) or types.is_large_string(each),
    )
    if types.is_null(column.type) or any(
        kind(column.type) and kind(argument.type) for kind in kinds
    ):
        try:
            return column.cast(argument.type)[0].as_py()
        except (pa.ArrowInvalid, ValueError):
            pass
    raise Refused(f"the argument {argument.name!r} of {function.name} is not {argument.type}")


def scan_arguments(values: Sequence[str]) -> bytes:
    """Return positional arguments as the description of a table has them."""
    fields = [pa.field(f"arg_{place}", pa.string()) for place in range(len(values))]
    columns = [pa.array([value], pa.string()) for value in values]
    return stream_bytes(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))

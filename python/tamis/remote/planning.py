"""Planning a scan of a remote source: in the sidecar, or in a process that Spark starts for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from tamis.expr.nodes import Column, Expr, In
from tamis.remote import arrow_form, executor, program
from tamis.remote.contract import JoinKeys, Order, ReadRequest, RemoteError, RemoteSource
from tamis.remote.sources import OF_QUERY, open_source
from tamis.wire.catalyst import decode_conjuncts

__all__ = ["PickledTasks", "pickled_tasks", "planned_reader", "spark_schema"]


def spark_schema(name: str, options: Mapping[str, str]) -> StructType:
    """Return the columns of a table in Spark's types.

    Raises:
        RemoteError: The table cannot be found, or Spark has no type for one of its columns.
    """
    source = open_source(name, options)
    return _readable(source, source.schema())


def planned_reader(
    name: str, options: Mapping[str, str], schema: StructType
) -> executor.TaskReader:
    """Return the reader of these columns.

    Raises:
        RemoteError: The server cannot be reached, or does not have these columns.
    """
    source = open_source(name, options)
    declared = source.schema()
    names = schema.fieldNames()
    offered = {field.name: field for field in _readable(source, declared)}
    if any(offered.get(field.name) != field for field in schema):
        raise RemoteError(
            source.label, "", "planning the scan",
            f"the table has the columns {', '.join(f'{f.name}: {f.type}' for f in declared)}, but "
            f"Spark expects {schema.simpleString()}",
            "If the reader calls .schema(…), remove that. If the table has changed, try again",
        )  # fmt: skip
    # Executors may have no tamis. The reader and its tasks are pickled after this call, in this
    # process.
    for module in (arrow_form, executor, *source.executor_modules):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    request = _request(options, tuple(names))
    wanted = pa.schema([declared.field(each) for each in names])
    # only the source knows where the first rows of an order end
    limit = None if request.order else request.limit
    tasks = source.tasks(request)
    return executor.TaskReader(tasks, wanted, limit, source.stream_columns())


@dataclass(frozen=True, slots=True)
class PickledTasks:
    """What executors need to read a table.

    - `program`: the source text of `tamis.remote.program`.
    - `reader`: a pickled TaskReader without tasks.
    - `tasks`: the pickled tasks.
    """

    program: str
    reader: bytes
    tasks: list[bytes]


def pickled_tasks(name: str, options: Mapping[str, str], columns: str) -> PickledTasks:
    """Return the tasks of a scan for executors.

    Args:
        name: The name of the format.
        options: Its options, and those of the query.
        columns: The columns to read, as the JSON form of Spark's StructType.

    Raises:
        RemoteError: As `planned_reader`.
    """
    schema = StructType.fromJson(json.loads(columns))
    planned = planned_reader(name, options, schema)
    return PickledTasks(
        Path(program.__file__).read_text("utf-8"),
        cloudpickle.dumps(planned.without_tasks()),  # type: ignore[no-untyped-call]
        [cloudpickle.dumps(task) for task in planned.partitions()],  # type: ignore[no-untyped-call]
    )


def _readable(source: RemoteSource, declared: pa.Schema) -> StructType:
    fields = []
    for field in declared:
        readable = arrow_form.readable_type(field.type)
        if readable is None:
            raise RemoteError(
                source.label, "", "planning the scan",
                f"the column {field.name} has the type {field.type}, which Spark does not have",
                "Cast the column in a view on the server, and read the view",
            )  # fmt: skip
        # A server may be wrong about NOT NULL, and Spark would then compute wrong results.
        fields.append(pa.field(field.name, readable, nullable=True))
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


def _request(options: Mapping[str, str], columns: tuple[str, ...]) -> ReadRequest:
    """Return the request of the extension; without it, all rows of the columns."""

    def conjuncts(name: str) -> tuple[Expr, ...]:
        return tuple(decode_conjuncts(json.loads(options.get(OF_QUERY + name) or "[]")))

    limit, tasks = options.get(OF_QUERY + "limit"), options.get(OF_QUERY + "tasks")
    keys = [
        JoinKeys(each.value, each.options)
        for each in conjuncts("keys")
        if isinstance(each, In) and isinstance(each.value, Column)
    ]
    return ReadRequest(
        columns,
        conjuncts("filters"),
        None if limit is None else int(limit),
        conjuncts("required"),
        tuple(keys),
        tuple(Order(**each) for each in json.loads(options.get(OF_QUERY + "order") or "[]")),
        options.get(OF_QUERY + "verify") == "true",
        None if tasks is None else int(tasks),
    )

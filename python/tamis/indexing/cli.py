"""`python -m tamis index …`: build, add to, refresh, describe, drop and list indexes."""

from __future__ import annotations

import json
import logging
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NoReturn, TypeAlias

import typer
from rich.console import Console

from tamis.errors import StatisticsIndexError
from tamis.indexing.build.spark_errors import causes

if TYPE_CHECKING:
    from datetime import datetime
    from types import FrameType

    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

    from tamis.indexing.format.specification import Specification
    from tamis.indexing.handle import Index

app = typer.Typer(
    name="index",
    help="Build, add to, refresh, maintain, describe, drop and list statistics indexes of "
    "directories and tables.",
    no_args_is_help=True,
)

_INTERRUPTED = 130  # 128 plus the number of SIGINT, as shells report it

Target = Annotated[str, typer.Argument(metavar="PATH_OR_TABLE", help="A path, a URI or a table.")]
Confs = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A conf of the Spark session; repeatable."),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds", metavar="NAME", help="Record exact bounds of this column; repeatable."
    ),
]
Bloom = Annotated[
    list[str] | None,
    typer.Option(
        "--bloom", metavar="NAME", help="Record a Bloom filter of this column; repeatable."
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--values", metavar="NAME", help="Record the distinct values of this column; repeatable."
    ),
]
Ndv = Annotated[
    list[str] | None,
    typer.Option(
        "--ndv",
        metavar="NAME",
        help="Record the number of distinct values of this column, from which Spark estimates the "
        "sizes of joins if spark.sql.cbo.enabled is true; repeatable.",
    ),
]
Expressions = Annotated[
    list[str] | None,
    typer.Option(
        "--expression",
        metavar="SQL",
        help="Record bounds and values of this expression; repeatable.",
    ),
]
Predicates = Annotated[
    list[str] | None,
    typer.Option(
        "--predicate",
        metavar="SQL",
        help="Record whether no row, some or all rows of each file and row group satisfy this "
        "condition, such as a LIKE, and in the rows that pass the bounds of the columns by which "
        "the table is clustered; repeatable.",
    ),
]
Aggregates = Annotated[
    list[str] | None,
    typer.Option(
        "--aggregate",
        metavar="SQL",
        help='Record this aggregate of each file, such as "sum(price * quantity)"; repeatable.',
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Record the aggregates by the values of this column; repeatable.",
    ),
]
SortedBy = Annotated[
    list[str] | None,
    typer.Option(
        "--sorted-by",
        metavar="NAME",
        help='Record whether the rows inside each file are sorted by this column, or "NAME DESC"; '
        "repeat it for further columns of the order.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="The format of the files under a path: orc, csv or json. Default: Parquet.",
    ),
]
SchemaText = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="DDL",
        help='The schema of the files, such as "id LONG, day DATE"; requires --format.',
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="KEY=VALUE", help="A reader option, with --format; repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

#: The `columns` argument of Index.build.
_Columns: TypeAlias = list[str] | dict[str, list[str]] | None
_Record: TypeAlias = "Callable[[Index, _Request], None]"
_GAPS: Final = (
    "Record bounds from the rows for columns without usable bounds in the footers, such as INT96 "
    "timestamps, FLOAT and DOUBLE."
)


@dataclass(frozen=True)
class _Request:
    """What to record: the arguments of Index.build."""

    columns: _Columns
    expressions: list[str] | None
    fill_gaps: bool | None
    aggregates: list[str] | None
    by: list[str]
    predicates: list[str] | None
    sorted_by: list[str]


def _columns(
    described: list[str] | None,
    bounds: list[str] | None,
    bloom: list[str] | None,
    values: list[str] | None,
    ndv: list[str] | None,
) -> _Columns:
    """Return the options as the `columns` argument of `Index.build`."""
    recorded: dict[str, list[str]] = {}
    kinds = (("bounds", bounds), ("bloom", bloom), ("values", values), ("ndv", ndv))
    for kind, names in kinds:
        for name in names or []:
            recorded.setdefault(name, []).append(kind)
    if described and recorded:
        raise typer.BadParameter(
            "--column limits the index to the given columns, but --bounds, --bloom, --values and "
            "--ndv need an index of all columns: pass either --column or the other options"
        )
    return recorded or described


def _recording(column_help: str, gaps_help: str) -> Callable[[_Record], _Record]:
    """Add a command with the options that say what to record. Its help is the docstring.

    Args:
        column_help: The help of --column.
        gaps_help: The help of --fill-gaps.
    """

    def add_command(record: _Record) -> _Record:
        def command(
            target: Target,
            column: list[str] | None = typer.Option(  # noqa: B008
                None, "--column", metavar="NAME", help=column_help
            ),
            bounds: Bounds = None,
            bloom: Bloom = None,
            values: Values = None,
            ndv: Ndv = None,
            expression: Expressions = None,
            predicate: Predicates = None,
            aggregate: Aggregates = None,
            by: By = None,
            sorted_by: SortedBy = None,
            fill_gaps: bool | None = typer.Option(
                None, "--fill-gaps/--no-fill-gaps", help=gaps_help, show_default=False
            ),
            format: Format = None,
            schema: SchemaText = None,
            option: Options = None,
            conf: Confs = None,
        ) -> None:
            columns = _columns(column, bounds, bloom, values, ndv)
            with opened(target, conf, Reads(format, schema, option)) as index:
                request = _Request(
                    columns,
                    expression,
                    fill_gaps,
                    aggregate,
                    by or [],
                    predicate,
                    sorted_by or [],
                )
                record(index, request)
                _show(index, as_json=False)

        app.command(name=record.__name__, help=record.__doc__)(command)
        return record

    return add_command


@_recording(
    "Record statistics of this column only; repeatable. Default: all columns.",
    f"{_GAPS} This is the default.",
)
def build(index: Index, request: _Request) -> None:
    """Build the index from the footers of all files, and from rows where footers do not suffice.

    The index of ORC, CSV and JSON files is built from the rows. For a path to such files, pass
    --format. For a table, the catalog has the format.
    """
    index.build(
        columns=request.columns,
        expressions=request.expressions,
        fill_gaps=request.fill_gaps is not False,
        aggregates=request.aggregates,
        by=request.by,
        predicates=request.predicates,
        sorted_by=request.sorted_by,
    )


@_recording(
    "Also describe this column; repeatable. Without --column, the index describes all columns, "
    "even if it was built with --column.",
    f"{_GAPS} Default: the choice of the last build.",
)
def add(index: Index, request: _Request) -> None:
    """Add statistics to the index, and keep everything that it records already."""
    index.add(
        columns=request.columns,
        expressions=request.expressions,
        fill_gaps=request.fill_gaps,
        aggregates=request.aggregates,
        by=request.by,
        predicates=request.predicates,
        sorted_by=request.sorted_by,
    )


@app.command()
def refresh(
    target: Target,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Update the index: read new and changed files, and remove the entries of deleted files."""
    with opened(target, conf, Reads(format, schema, option)) as index:
        index.refresh()
        _show(index, as_json=False)


@app.command()
def describe(
    target: Target,
    as_json: AsJson = False,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Show what the index records, and how many files have changed since the last refresh."""
    with opened(target, conf, Reads(format, schema, option)) as index:
        _show(index, as_json)


@app.command()
def drop(
    target: Target,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Delete the index, and the list of what it records. Data files stay."""
    with opened(target, conf, Reads(format, schema, option)) as index:
        index.drop()


@app.command(name="list")
def list_indexes(
    location: Annotated[
        str | None,
        typer.Option("--location", metavar="URI", help="The value of spark.tamis.index.location."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """List the indexes that this user has built on this machine.

    To list the indexes at spark.tamis.index.location, pass --location.
    """
    indexes = [
        {
            "root": each.root,
            "written": written.isoformat(timespec="seconds"),
            "columns": None if each.selected is None else list(each.selected),
            "recorded": {k: list(v) for k, v in each.recorded.columns.items()},
            "expressions": list(each.recorded.expressions),
            "aggregates": [
                {"by": list(grouping.by), "aggregates": list(grouping.aggregates)}
                for grouping in each.recorded.groupings
            ],
            "sorted_by": [list(order) for order in each.recorded.orders],
        }
        for each, written in _specifications(location)
    ]
    if as_json:
        typer.echo(json.dumps(indexes, indent=2))
        return
    for entry in indexes:
        typer.echo(f"{entry['written']}  {entry['root']}")
    if not indexes:
        typer.echo(
            "this user has built no index inside a table on this machine: to list the indexes at "
            "spark.tamis.index.location, pass --location"
            if location is None
            else f"no index at {location}"
        )


def _specifications(location: str | None) -> list[tuple[Specification, datetime]]:
    from tamis.indexing.format.specification import SpecificationFile
    from tamis.indexing.storage import StorageUnreachableError

    try:
        return SpecificationFile.all(location)
    except (OSError, StorageUnreachableError) as problem:
        raise StatisticsIndexError(
            f"the indexes at {location or 'the data directory of this user'} cannot be listed "
            f"({problem}): check the location and its permissions. This command uses the "
            "credentials of the environment, and not the fs.* settings of Spark."
        ) from problem


def _show(index: Index, as_json: bool) -> None:
    description = index.describe()
    if as_json:
        typer.echo(json.dumps(description.to_dict(), indent=2))
        return
    console = Console()
    console.print(description if console.is_terminal else str(description), markup=False)


@dataclass(frozen=True)
class Reads:
    """How a path is read. format None: as Parquet, or as the table defines."""

    format: str | None
    schema: str | None
    options: list[str] | None

    def reader(self, spark: SparkSession) -> DataFrameReader | None:
        if self.format is None:
            if self.schema or self.options:
                raise typer.BadParameter("pass --format as well", param_hint="--schema, --option")
            return None
        reader = spark.read.format(self.format).options(**key_values(self.options, "--option"))
        if self.schema is None:
            return reader
        from tamis.indexing.build.spark_errors import unlogged_errors

        try:
            with unlogged_errors():
                return reader.schema(self.schema)
        except Exception as problem:  # an error of PySpark or of py4j
            raise typer.BadParameter(causes(problem), param_hint="--schema") from None


@contextmanager
def opened(target: str, confs: list[str] | None, reads: Reads) -> Iterator[Index]:
    """Open the index of a target in a separate session, which ends with the command.

    Ctrl-C ends the command with the exit code of an interrupted program. Errors are worded in
    terms of the command line.
    """
    # hides what py4j logs about the connection that Ctrl-C breaks
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False
    spark, index_of_target = None, None
    interrupts: list[int] = []
    try:
        with _warnings_as_lines():
            from tamis.indexing import index
            from tamis.indexing.build.jobs import own_session

            spark = own_session(key_values(confs, "--conf"))
            with _noticed_interrupts(interrupts):
                index_of_target = index(spark, target, reader=reads.reader(spark))
                yield index_of_target
    except (Exception, KeyboardInterrupt) as problem:
        # After Ctrl-C, the call that waits for a job may fail with another error first.
        if not interrupts and not isinstance(problem, KeyboardInterrupt):
            if isinstance(problem, StatisticsIndexError):
                raise StatisticsIndexError(problem.shell) from problem
            raise
        is_changed = index_of_target is not None and index_of_target.is_changed
        state = "had already been changed" if is_changed else "was not changed"
        typer.echo(f"tamis: interrupted: the index {state}", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    finally:
        if spark is not None:
            _stop(spark, is_quiet=bool(interrupts))


def _stop(spark: SparkSession, is_quiet: bool) -> None:
    """Stop the session, which cancels its jobs.

    Args:
        is_quiet: Keep Spark from logging the tasks that end with the session as failed.
    """
    with suppress(Exception, KeyboardInterrupt):  # the JVM may be gone
        if is_quiet:
            spark.sparkContext.setLogLevel("OFF")
        spark.stop()


@contextmanager
def _noticed_interrupts(arrived: list[int]) -> Iterator[None]:
    """Append SIGINT signals to a list as they arrive, and raise KeyboardInterrupt.

    PySpark's own handler first cancels all jobs over the connection of this thread to the JVM. If
    the thread waits for a job, that fails with a stack trace, because py4j is reading from the
    connection. After KeyboardInterrupt, py4j opens another connection.
    """
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        arrived.append(number)
        raise KeyboardInterrupt

    def is_wanted(record: logging.LogRecord) -> bool:
        return not arrived  # py4j logs the interrupt with a stack trace, to the root logger

    signal.signal(signal.SIGINT, interrupt)
    logging.getLogger().addFilter(is_wanted)
    try:
        yield
    finally:
        logging.getLogger().removeFilter(is_wanted)
        signal.signal(signal.SIGINT, before)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as plain lines, without a source location."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: typer.echo(f"tamis: {message}", err=True)
        yield


def key_values(texts: list[str] | None, option: str, form: str = "KEY=VALUE") -> dict[str, str]:
    """Return the values of a repeatable option in the form KEY=VALUE."""
    pairs = {}
    for each in texts or []:
        key, separator, value = each.partition("=")
        if not separator:
            raise typer.BadParameter(f"{each} does not have the form {form}", param_hint=option)
        pairs[key] = value
    return pairs

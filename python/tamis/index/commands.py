"""`python -m tamis index …`: build, add to, refresh, describe and drop an index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

    from tamis.index.handle import Index

app = typer.Typer(
    name="index",
    help="The statistics index of a directory of files, or of a table over one.",
    no_args_is_help=True,
)

Target = Annotated[str, typer.Argument(metavar="PATH_OR_TABLE", help="A path, a URI or a table.")]
Confs = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A conf of the Spark session; repeatable."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME", help="Describe this column only; repeatable."),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--bounds", metavar="NAME", help="Record exact bounds of this column."),
]
Bloom = Annotated[
    list[str] | None,
    typer.Option("--bloom", metavar="NAME", help="Record a bloom filter of this column."),
]
Values = Annotated[
    list[str] | None,
    typer.Option("--values", metavar="NAME", help="Record the distinct values of this column."),
]
Expressions = Annotated[
    list[str] | None,
    typer.Option("--expression", metavar="SQL", help="Record bounds and values of this."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="orc, csv or json: how a path is read."),
]
SchemaText = Annotated[
    str | None,
    typer.Option("--schema", metavar="DDL", help="The columns, with --format."),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="Of the reader, with --format; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="As one JSON object.")]


def _columns(
    described: list[str] | None,
    bounds: list[str] | None,
    bloom: list[str] | None,
    values: list[str] | None,
) -> list[str] | dict[str, list[str]] | None:
    """As `Index.build` takes them."""
    recorded: dict[str, list[str]] = {}
    for kind, names in (("bounds", bounds), ("bloom", bloom), ("values", values)):
        for name in names or []:
            recorded.setdefault(name, []).append(kind)
    if described and recorded:
        raise typer.BadParameter(
            "leaves out other columns, and --bounds, --bloom and --values do not: give one or the "
            "other",
            param_hint="--column",
        )
    return recorded or described


@app.command()
def build(
    target: Target,
    column: Columns = None,
    bounds: Bounds = None,
    bloom: Bloom = None,
    values: Values = None,
    expression: Expressions = None,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Build the index from the footers of all files, and from the rows where that is asked for.

    Of ORC, CSV and JSON from the rows: of a table, or of a path with --format.
    """
    columns = _columns(column, bounds, bloom, values)
    with _opened(target, conf, _Reads(format, schema, option)) as index:
        index.build(columns=columns, expressions=expression)
        _show(index, as_json=False)


@app.command()
def add(
    target: Target,
    column: Columns = None,
    bounds: Bounds = None,
    bloom: Bloom = None,
    values: Values = None,
    expression: Expressions = None,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Build the index anew, with what it holds already and with this."""
    columns = _columns(column, bounds, bloom, values)
    with _opened(target, conf, _Reads(format, schema, option)) as index:
        index.add(columns=columns, expressions=expression)
        _show(index, as_json=False)


@app.command()
def refresh(
    target: Target,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Read new and changed files only."""
    with _opened(target, conf, _Reads(format, schema, option)) as index:
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
    """Say what the index holds, and how far it is behind the files."""
    with _opened(target, conf, _Reads(format, schema, option)) as index:
        _show(index, as_json)


@app.command()
def drop(
    target: Target,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Remove the index."""
    with _opened(target, conf, _Reads(format, schema, option)) as index:
        index.drop()


def _show(index: Index, as_json: bool) -> None:
    description = index.describe()
    if as_json:
        typer.echo(json.dumps(description.to_dict(), indent=2))
        return
    console = Console()
    console.print(description if console.is_terminal else str(description), markup=False)


@dataclass(frozen=True)
class _Reads:
    """How a path is read; format None: as Parquet, or as the table says."""

    format: str | None
    schema: str | None
    options: list[str] | None

    def reader(self, spark: SparkSession) -> DataFrameReader | None:
        if self.format is None:
            if self.schema or self.options:
                raise typer.BadParameter("give --format as well", param_hint="--schema, --option")
            return None
        reader = spark.read.format(self.format).options(**_pairs(self.options))
        return reader if self.schema is None else reader.schema(self.schema)


@contextmanager
def _opened(target: str, confs: list[str] | None, reads: _Reads) -> Iterator[Index]:
    """The index of a target, in a session of its own that ends with the command."""
    from tamis.index import index
    from tamis.index.build import own_session

    spark = own_session(_pairs(confs))
    try:
        yield index(spark, target, reader=reads.reader(spark))
    finally:
        spark.stop()


def _pairs(texts: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in texts or []:
        key, separator, value = each.partition("=")
        if not separator:
            raise typer.BadParameter(f"{each}: write KEY=VALUE")
        pairs[key] = value
    return pairs

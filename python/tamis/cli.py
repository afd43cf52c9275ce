"""The command line, `python -m tamis`.

Results go to stdout, as plain text if stdout is not a terminal. Errors go to stderr. Exit codes:
0 for success, 1 for a TamisError (its message is printed without a traceback) or a failed check of
`doctor`, 2 for wrong usage, 130 if interrupted.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tamis import conf as confs
from tamis import jar as jars
from tamis._version import __version__
from tamis.errors import TamisError

# Command groups of other packages, imported only when they are used, so that `jar` stays fast.
_GROUPS = {"index": "tamis.maintenance.commands", "report": "tamis.report.commands"}

# Options and arguments of several commands.
_AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME=PATH",
        help="A name for a table, and its path: Parquet files, a Delta or an Iceberg table.",
    ),
]
_Host = Annotated[str, typer.Option(help="The address to listen on.")]
_Port = Annotated[int, typer.Option(help="The port; 0 selects a free one.")]

app = typer.Typer(
    name="tamis",
    help="Make Spark read only the files that a query needs, and explain each decision.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


@app.command()
def jar() -> None:
    """Print the path of the extension jar, for spark-submit --jars."""
    typer.echo(jars.path())


@app.command()
def conf(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as in docs/conf.md.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """List the confs with their defaults and meanings."""
    if markdown:
        typer.echo(confs.to_markdown(), nl=False)
    elif as_json:
        typer.echo(json.dumps(confs.documents(), indent=2))
    elif sys.stdout.isatty():
        _print_conf_table()
    else:
        for e in confs.registry().values():
            typer.echo(f"{e.key}\t{confs.default_text(e)}\t{e.doc}")


@app.command()
def doctor(
    no_spark: Annotated[
        bool, typer.Option("--no-spark", help="Run only the checks that do not start Spark.")
    ] = False,
    as_json: _AsJson = False,
) -> None:
    """Check this installation, and say how to fix what fails.

    Checks the versions of Python, its packages, pyspark, Scala, Java and the
    jar, and the confs in PYSPARK_SUBMIT_ARGS and spark-defaults.conf. Starts the Python
    process of the planner and sends it a request. Then starts a local Spark
    with these confs in a separate process and queries a temporary table of
    four files with tamis on and off. Exits with code 1 if anything fails.
    """
    from tamis.doctor import show

    raise typer.Exit(show.report(with_spark=not no_spark, as_json=as_json))


@app.command()
def explain(
    statement: Annotated[
        str,
        typer.Argument(metavar="SQL", help="A SQL statement; - reads it from standard input."),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME=PATH",
            help="Create a view NAME over the files under PATH; repeatable.",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="The format of the files given with --table."
        ),
    ] = "parquet",
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf", metavar="KEY=VALUE", help="A conf of the Spark session; repeatable."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the explanation to this file, as HTML."),
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Explain which files each scan of a statement reads, and why.

    Plans the statement in a new Spark session with tamis, but does not run it.

    Example: python -m tamis explain --table t=/data/t "SELECT * FROM t WHERE id = 7"
    """
    from tamis.report import explain_command

    text = sys.stdin.read() if statement == "-" else statement
    explanation = explain_command.explain_statement(text, table, format, conf)
    if html is not None:
        explain_command.write_page(explanation, html)
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), indent=2))
    elif html is not None:
        typer.echo(html)
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(explanation)
    else:
        typer.echo(str(explanation))


@app.command(name="serve-airport")
def serve_airport(
    tables: _Tables,
    host: _Host = "127.0.0.1",
    port: _Port = 8815,
    schema: Annotated[str, typer.Option(help="The name of the schema of the tables.")] = "main",
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the bearer token that clients need."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A PEM file with the certificate for TLS.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A PEM file with the private key of --certificate."),
    ] = None,
    locations: Annotated[
        bool,
        typer.Option(
            "--locations",
            help="Let clients read the files themselves. They need the same paths and permissions "
            "as the server.",
        ),
    ] = False,
) -> None:
    """Serve tables of Parquet files to DuckDB, Spark and other Airport clients.

    Airport is the protocol of DuckDB's airport extension, based on Arrow
    Flight. Prints the location when clients can connect, and runs until Ctrl-C or
    SIGTERM. Needs no Spark. Clients receive only the row groups that can hold
    matching rows. Tables are directories of Parquet files, Delta tables and
    Iceberg tables (also iceberg:CATALOG.NAMESPACE.TABLE).

    Example: python -m tamis serve-airport orders=/data/orders
    """
    from tamis.publish.airport import serve_command

    serve_command.serve(
        serve_command.tables_of(tables),
        host=host,
        port=port,
        schema=schema,
        access=serve_command.access_of(token_file, certificate, key),
        with_locations=locations,
    )


@app.command(name="serve-vgi")
def serve_vgi(
    tables: _Tables,
    http: Annotated[
        bool,
        typer.Option(
            "--http", help="Listen for HTTP instead of answering on standard input and output."
        ),
    ] = False,
    host: _Host = "127.0.0.1",
    port: _Port = 0,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A file with the bearer tokens of HTTP clients, one per line."
        ),
    ] = None,
    catalog: Annotated[str, typer.Option(help="The name of the catalog.")] = "tamis",
) -> None:
    """Serve tables of Parquet files as a VGI worker.

    VGI is a protocol for workers that provide tables and table functions
    (https://github.com/Query-farm/vgi). Without --http, this command is a worker
    process that the client starts and ends.
    With --http it prints PORT:<number> when clients can connect, and runs
    until Ctrl-C or SIGTERM. Needs no Spark. Clients receive only the rows that
    pass their filters, from the row groups that can hold such rows. Tables can be
    of the same kinds as for serve-airport.

    Example: python -m tamis serve-vgi --http orders=/data/orders
    """
    from tamis.publish.named_paths import named_paths
    from tamis.publish.vgi import serve_command

    served = serve_command.catalog_of(catalog, named_paths(tables))
    if http:
        serve_command.serve_http(served, host, port, token_file)
    elif not serve_command.serve_stdio(served):
        raise typer.Exit(1)


def _print_conf_table() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("conf", "meaning", show_lines=True)
    for e in confs.registry().values():
        head = f"[bold]{e.key}[/]\n{e.allowed}\n[dim]default: {confs.default_text(e)}[/]"
        table.add_row(head, e.doc)
    Console().print(table)


def main() -> None:
    """Run the command line of this process and exit."""
    words = sys.argv[1:]
    try:
        for name, module in _GROUPS.items():
            if name in words or words in ([], ["--help"]):  # the help text lists all commands
                app.add_typer(importlib.import_module(module).app, name=name)
        app()
    except KeyboardInterrupt:  # before a command has started
        typer.echo("tamis: interrupted", err=True)
        sys.exit(130)
    except TamisError as error:
        typer.echo(f"tamis: {error}", err=True)
        sys.exit(1)

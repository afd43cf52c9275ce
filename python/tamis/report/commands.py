"""`python -m tamis report`: the history as one page."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.errors import TamisError, some_of

if TYPE_CHECKING:
    import pyarrow as pa

#: How many tables an error names.
_SHOWN = 10

app = typer.Typer(
    name="report",
    help="Write the history as HTML: what was read, what was read needlessly, and how to avoid it.",
    subcommand_metavar="",
)


@app.callback(invoke_without_command=True)
def report(
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="DIR",
            help="The directory of spark.tamis.history.location. Default: this user's history.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="TEXT",
            help="Report only tables whose name contains TEXT; repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file for the page.")
    ] = Path("report.html"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON; write no page.")
    ] = False,
) -> None:
    from tamis.report.findings import findings
    from tamis.report.page import to_html
    from tamis.scan_history import default_location
    from tamis.scan_history import history as read

    folder = default_location() if history is None else history
    if history is not None and not folder.is_dir():
        raise TamisError(
            f"{folder} is not a directory: pass the directory of spark.tamis.history.location"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = findings(_of_tables(read(folder), table or []))
    for each in caught:
        typer.echo(str(each.message), err=True)
    if as_json:
        typer.echo(json.dumps({"history": str(folder), **summary.to_dict()}, indent=2))
        return
    try:
        output.write_text(to_html(summary, str(folder)), "utf-8")
    except OSError as error:
        raise TamisError(
            f"the report cannot be written ({error}): pass another file with --output"
        ) from error
    typer.echo(output)


def _of_tables(history: pa.Table, wanted: list[str]) -> pa.Table:
    """Return the scans of tables whose name contains one of the texts.

    Raises:
        TamisError: There is no such table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not wanted:
        return history
    names = history.column("table")
    chosen = [each for each in names.unique().to_pylist() if any(t in each for t in wanted)]
    if not chosen:
        raise TamisError(
            f"no table of the history has {' or '.join(wanted)} in its name: the tables of the "
            f"history are {some_of(sorted(names.unique().to_pylist()), _SHOWN)}"
        )
    return history.filter(pc.is_in(names, pa.array(chosen, names.type)))

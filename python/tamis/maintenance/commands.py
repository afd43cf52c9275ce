"""`python -m tamis index`: the commands of `tamis.indexing.cli`, and `maintain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tamis.indexing.cli import (
    AsJson,
    Confs,
    Format,
    Options,
    Reads,
    SchemaText,
    Target,
    app,
    opened,
)

__all__ = ["app"]


@app.command()
def maintain(
    target: Target,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print the steps, with their costs and savings."),
    ] = False,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="DIR",
            help="The directory of the history: the value of spark.tamis.history.location in the "
            "application that ran the queries. Default: this user's history.",
        ),
    ] = None,
    as_json: AsJson = False,
    format: Format = None,
    schema: SchemaText = None,
    option: Options = None,
    conf: Confs = None,
) -> None:
    """Build or refresh the index, and record the statistics that past queries lacked."""
    from tamis.errors import TamisError
    from tamis.maintenance.planning import maintain_index

    if history is not None and not history.is_dir():
        raise TamisError(
            f"{history} is not a directory: pass the directory of spark.tamis.history.location"
        )
    with opened(target, conf, Reads(format, schema, option)) as index:
        result = maintain_index(index, dry_run=dry_run, history=history)
        typer.echo(json.dumps(result.to_dict(), indent=2) if as_json else str(result))

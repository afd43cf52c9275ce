"""`python -m tamis explain`: the explanation of a SQL statement in a session of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tamis.errors import TamisError
from tamis.jar import shim_in
from tamis.report.explanation import Explanation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["explain_statement", "write_page"]

# The planner has just been started, and a person waits for its answer.
_PATIENT: Final = {"spark.tamis.timeout": "1min", "spark.tamis.startTimeout": "1min"}


def explain_statement(
    statement: str, tables: list[str] | None, format: str, confs: list[str] | None
) -> Explanation:
    """Explain a statement in a new Spark session, which ends with this call.

    Args:
        statement: A query or a command. It is planned and not run.
        tables: `NAME=PATH`: files that the statement reads under a name.
        format: The format of these files.
        confs: `KEY=VALUE`: confs of the session.

    Raises:
        TamisError: Spark does not start, or refuses the statement. The message has one line.
    """
    from tamis.indexing.build.jobs import own_session
    from tamis.indexing.build.spark_errors import causes, unlogged_errors
    from tamis.indexing.cli import key_values

    views, settings = key_values(tables, "--table", "NAME=PATH"), key_values(confs, "--conf")
    spark: SparkSession | None = None
    try:
        spark = own_session(_PATIENT | settings)
        with unlogged_errors():
            for name, path in views.items():
                spark.read.format(format).load(path).createOrReplaceTempView(name)
            shim = shim_in(spark._jvm)
            assert shim is not None  # own_session loads the jar
            document = shim.explain(spark._jsparkSession, statement)
    except TamisError:
        raise
    except Exception as problem:  # an error of PySpark or of py4j
        text = causes(problem)
        is_unknown = "[TABLE_OR_VIEW_NOT_FOUND]" in text
        hint = ". For files, pass --table NAME=PATH." if is_unknown else ""
        raise TamisError(text.rstrip(".") + hint) from problem
    finally:
        if spark is not None:
            with suppress(Exception):  # the JVM may be gone
                spark.stop()
    return Explanation(json.loads(document))


def write_page(explanation: Explanation, file: Path) -> None:
    """Write an explanation as a page of HTML.

    Raises:
        TamisError: The file cannot be written.
    """
    body = explanation._repr_html_()
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(file.stem)}</title></head><body>{body}</body></html>\n"
    )
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise TamisError(
            f"the page cannot be written ({error}): pass another file with --html"
        ) from error

"""Why an index cannot be used for a scan."""

from __future__ import annotations

import json
from urllib.parse import unquote

from tamis.indexing.format.layout import index_uri
from tamis.indexing.problems import IndexUnusable, refresh_command
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.reader_options import Reading, difference
from tamis.wire.scans import ScanRequest

__all__ = ["other_case", "other_files", "other_reading", "target_of"]


def target_of(request: ScanRequest) -> str:
    """Return the argument of `tamis.index(spark, …)` for a table of a format, as Python source."""
    table = request.table
    path = unquote(table.roots[0])
    is_path = request.delta is not None and (not table.name or path in table.name)
    return json.dumps(path if is_path else table.name, ensure_ascii=False)


def other_files(request: ScanRequest, why: str) -> IndexUnusable:
    """Return that the index of a table of a format says nothing about its files."""
    return IndexUnusable(
        "index.other_reading",
        f"the index of {request.table.name or unquote(request.table.roots[0])} is not used: {why}",
        f"rebuild it: tamis.index(spark, {target_of(request)}).refresh()",
    )


def other_case(
    root: str, location: str | None, now: bool, reading: Reading | None
) -> IndexUnusable:
    command = refresh_command(root, location, command_options(reading))
    conf, built, value = "spark.sql.caseSensitive", str(not now).lower(), str(now).lower()
    return IndexUnusable(
        "index.case_sensitivity",
        f"the index {index_uri(root, location)} was built with {conf} = {built} and is not used, "
        f"because this session sets it to {value}",
        f"use the same value, or run {command} --conf {conf}={value}",
    )


def other_reading(
    root: str, where: str, built: Reading | None, now: Reading | None
) -> IndexUnusable:
    what = "" if built is None or now is None else f" ({difference(built, now)})"
    return IndexUnusable(
        "index.other_reading",
        f"the index {where} is not used, because the query reads the files with another schema or "
        f"other settings{what}",
        "use the schema and the settings of the index, or rebuild it with everything that it "
        f"records: tamis.index(spark, {json.dumps(unquote(root), ensure_ascii=False)}, "
        "reader=…).refresh()",
    )

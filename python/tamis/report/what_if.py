"""Estimates what a query would read if its table were sorted in another order."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tamis.errors import WITHOUT_TAMIS, TamisError
from tamis.expr.nodes import And, Expr, columns_of
from tamis.jar import shim_in
from tamis.report.figures import part_of_whole
from tamis.report.layout_simulation import Sample, cut, file_table
from tamis.report.numbers import count, percent, size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["WhatIf", "what_if"]

#: The size of the sample: rows per file of the table, and limits for all rows.
_ROWS_A_FILE: Final = 200
_LEAST_ROWS: Final = 20_000
_MOST_ROWS: Final = 1_000_000
_SEED: Final = 20_240_229


@dataclass(frozen=True)
class WhatIf:
    """An estimate. `str()` gives text for people, `to_dict()` data for programs."""

    _document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return what is read now and what would be read then, with stable keys.

        `{"cluster_by": […], "scans": [{"table", "filters", "files_now", "files_then",
        "files_total", "bytes_now", "bytes_then", "bytes_total", "rows_sampled", "rows_total",
        "pieces"}]}`. Sizes are in bytes. The `…_then` values are estimated from `rows_sampled`
        rows, which were sorted and cut into `pieces` pieces. `filters` are the conjuncts of the
        scan's filter, as SQL, whether they rule out files or not.
        """
        return self._document

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        order = ", ".join(self._document["cluster_by"])
        for scan in self._document["scans"]:
            total = scan["files_total"]
            yield f"{scan['table']}, if its rows were sorted by {order}"
            for when, kind in (("now", "now"), ("after sorting, about", "then")):
                files = part_of_whole(scan[f"files_{kind}"], total, "files")
                yield f"  {when:<21} {files}, {_bytes(scan, kind)}"
            rows = part_of_whole(scan["rows_sampled"], scan["rows_total"], "rows")
            pieces = count(scan["pieces"], "piece")
            yield f"  estimated from {rows}, sorted and cut into {pieces}"
            if not scan["filters"]:
                yield "  the scan has no filter, so no order reduces the files that it reads"


def _bytes(scan: dict[str, Any], when: str) -> str:
    share = scan[f"bytes_{when}"] / scan["bytes_total"] if scan["bytes_total"] else 0
    return f"{size(scan[f'bytes_{when}'])} ({percent(share)})"


def what_if(df: DataFrame, cluster_by: Sequence[str] | str) -> WhatIf:
    """Estimate what the scans of a DataFrame would read if their tables were sorted differently.

    Runs a Spark job that reads the columns of `cluster_by` and those of the filters from the whole
    table, and keeps a random sample of the rows. If the number of rows is not known, a second job
    counts them. Sorts the sample by `cluster_by` within each partition, and cuts it into about as
    many pieces as there are files, or fewer if the sample is small. The planner then evaluates the
    filters over the bounds of these pieces, as it does for files. The estimate leaves out what a
    LIMIT, a join or run-time filters would save. A piece of a sample holds fewer values than a real
    file, so the result is only an estimate. For a query over several tables, it covers the scans of
    those that have these columns.

    Args:
        df: A DataFrame of a classic session with tamis.
        cluster_by: Names of the sort columns, the most significant first. Fields of structs are
            named with dots.

    Raises:
        TamisError: No scanned table has these columns, or they have no order; the DataFrame is one
            of Spark Connect; its session runs without tamis; or tamis does not plan any scan of the
            query.

    Example:
        print(tamis.what_if(spark.table("events").where("user = 42"), cluster_by=["user"]))
    """
    names = [cluster_by] if isinstance(cluster_by, str) else list(cluster_by)
    if not names:
        raise TamisError("cluster_by names no column: pass at least one, as in cluster_by=['day']")
    jvm = getattr(df.sparkSession, "_jvm", None)
    if jvm is None:
        raise TamisError("what_if needs a classic session, but this is a Spark Connect DataFrame")
    shim = shim_in(jvm)
    if shim is None:
        raise TamisError(WITHOUT_TAMIS)
    scans = json.loads(shim.layouts(df._jdf))
    if not scans:
        raise TamisError("tamis does not plan any scan of this query: tamis.explain(df) says why")
    chosen = [(place, scan) for place, scan in enumerate(scans) if _has(scan, names)]
    if not chosen:
        raise _no_such_column(scans, names)
    estimates = [_estimate(scan, _rows(shim, df, place), names) for place, scan in chosen]
    return WhatIf({"cluster_by": names, "scans": estimates})


def _rows(shim: Any, df: DataFrame, place: int) -> DataFrame:
    """Return the rows of the table of the scan at this position."""
    return type(df)(shim.rowsOfScan(df._jdf, place), df.sparkSession)


def _estimate(scan: dict[str, Any], rows: DataFrame, cluster_by: Sequence[str]) -> dict[str, Any]:
    from tamis.wire.catalyst import decode_conjuncts

    conjuncts = decode_conjuncts(scan["conjuncts"])
    total = scan["rows_total"] if scan["rows_total"] is not None else rows.count()
    wanted = min(_MOST_ROWS, max(_LEAST_ROWS, _ROWS_A_FILE * scan["files_total"]))
    sampled = rows if wanted >= total else rows.sample(wanted / total, _SEED)
    paths = [path for each in conjuncts for path in columns_of(each)]
    sample = Sample.of(sampled, cluster_by, scan["partition_columns"], paths)
    starts = cut(sample, scan["files_total"])
    kept = _kept(conjuncts, sample, starts)
    lengths = np.diff([*starts, len(sample.table)])
    share_of_files = float(kept.mean()) if len(kept) else 0.0
    share_of_rows = float(lengths[kept].sum() / lengths.sum()) if lengths.sum() else 0.0
    # Rows that are read now are in at least one file then, although the sample may lack them.
    least = min(1, scan["files_kept"])
    files = max(least, math.ceil(share_of_files * scan["files_total"] - 1e-9))
    a_file = scan["bytes_total"] / max(1, scan["files_total"])
    return {
        "table": scan["table"],
        "filters": [each["sql"] for each in scan["filters"]],
        "files_now": scan["files_kept"],
        "files_then": files,
        "files_total": scan["files_total"],
        "bytes_now": scan["bytes_kept"],
        "bytes_then": round(max(least * a_file, share_of_rows * scan["bytes_total"])),
        "bytes_total": scan["bytes_total"],
        "rows_sampled": len(sample.table),
        "rows_total": total,
        "pieces": len(starts),
    }


def _kept(conjuncts: Sequence[Expr], sample: Sample, starts: Sequence[int]) -> np.ndarray:
    from tamis.files.verdicts import evaluate

    files = file_table(sample, starts)
    if not conjuncts:
        return np.ones(len(files), np.bool_)
    whole = conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts))
    verdicts = evaluate(whole, files).to_pylist()
    return np.array([verdict != "none" for verdict in verdicts], np.bool_)


def _has(scan: dict[str, Any], names: Sequence[str]) -> bool:
    def plain(name: str) -> str:
        return name if scan["case_sensitive"] else name.lower()

    there = {plain(each) for each in scan["columns"]}
    return all(plain(each) in there or plain(each.partition(".")[0]) in there for each in names)


def _no_such_column(scans: Sequence[dict[str, Any]], names: Sequence[str]) -> TamisError:
    for scan in scans:
        missing = [each for each in names if not _has(scan, [each])]
        near = difflib.get_close_matches(missing[0], scan["columns"], n=1)
        if near:
            return TamisError(
                f"{scan['table']} has no column {missing[0]}: did you mean {near[0]}?"
            )
    tables = ", ".join(dict.fromkeys(scan["table"] for scan in scans))
    return TamisError(
        f"none of the tables that the query reads ({tables}) has all of these columns: "
        f"{', '.join(names)}. Pass columns of one table."
    )

"""What tamis decided for the scans of a DataFrame, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Explanation", "explain", "why_not"]


@dataclass(frozen=True)
class Explanation:
    """The decisions of one plan; `str()` of it is for people, `to_dict()` for programs.

    >>> print(Explanation({"scans": [], "left_alone": []}))
    no scan of this query is tamis's
    """

    _document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The decisions with stable keys.

        `{"scans": [{"table", "files_kept", "files_total", "bytes_kept", "bytes_total", "rows_kept",
        "rows_total", "row_groups_kept", "row_groups_total", "planning_ms", "fallback", "conjuncts":
        [{"sql", "pushdown", "reason", "pruned_files"}]}], "left_alone": [{"table", "reason"}],
        "answered": [{"table", "goal", "files"}]}`.
        Sizes are bytes. None: not known; of row groups also that nobody had to look at them. Bytes
        and rows kept are those of the row groups that are read, files kept those that are opened.
        `pushdown` is "exact", "inexact" or "unsupported"; `pruned_files` counts the files that the
        conjunct prunes on its own; `reason` is None or has "code", "text" and "fix". `answered` is
        what the statistics of so many files gave, so that no scan is in the plan.
        """
        return self._document

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        answered = self._document.get("answered", [])
        if not self._document["scans"] and not answered:
            yield "no scan of this query is tamis's"
        for each in answered:
            yield (
                f"{each['table']}: {each['goal']} answered by the statistics of "
                f"{each['files']:,} files, none is read"
            )
        for scan in self._document["scans"]:
            yield (
                f"{scan['table']}: {_of(scan, 'files')} files, {_row_groups(scan)}"
                f"{_of(scan, 'bytes')} bytes, planned in {scan['planning_ms']:.1f} ms"
            )
            for goal in scan.get("goals", []):
                why = goal["reason"]
                yield f"  {goal['goal']}" + (f": no, {why['text']}" if why else "")
                if why and why["fix"]:
                    yield f"              -> {why['fix']}"
            if scan["fallback"]:
                yield f"  read as plain Spark would: {scan['fallback']}"
            for conjunct in scan["conjuncts"]:
                yield from _conjunct(conjunct)
        for relation in self._document["left_alone"]:
            yield f"{relation['table']}: left alone, because {relation['reason']}"


def _of(scan: dict[str, Any], what: str) -> str:
    return f"{scan[f'{what}_kept']:,} of {scan[f'{what}_total']:,}"


def _row_groups(scan: dict[str, Any]) -> str:
    if scan["row_groups_kept"] is None or scan["row_groups_total"] is None:
        return ""
    return f"{_of(scan, 'row_groups')} row groups, "


def _conjunct(conjunct: dict[str, Any]) -> Iterator[str]:
    pruned = conjunct["pruned_files"]
    effect = "" if pruned is None else f", prunes {pruned:,} files on its own"
    yield f"  {conjunct['pushdown']:<11} {conjunct['sql']}{effect}"
    if conjunct["reason"]:
        yield f"              {conjunct['reason']['text']}"
        if conjunct["reason"]["fix"]:
            yield f"              -> {conjunct['reason']['fix']}"


def explain(df: DataFrame) -> Explanation:
    """Explain which files each scan of the DataFrame reads, and why. Plans it; never runs it.

    Raises:
        TamisError: a Spark Connect DataFrame, or a session without tamis.

    Example:
        print(tamis.explain(spark.table("lineitem").where("l_shipdate = DATE '1995-03-15'")))
    """
    jvm = getattr(df.sparkSession, "_jvm", None)
    if jvm is None:
        raise TamisError("a Spark Connect DataFrame cannot be explained from here: use EXPLAIN.")
    return Explanation(json.loads(jvm.io.tamis.Tamis.explain(df._jdf)))


def why_not(df: DataFrame) -> Explanation:
    """Explain only what did not become exact, and how to change that."""
    document = explain(df).to_dict()
    scans = []
    for scan in document["scans"]:
        left = [c for c in scan["conjuncts"] if c["pushdown"] != "exact"]
        if left or scan["fallback"]:
            scans.append(scan | {"conjuncts": left})
    return Explanation({"scans": scans, "left_alone": document["left_alone"]})

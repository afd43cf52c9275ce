"""What tamis decided for the scans of a DataFrame, as text, for notebooks and as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import Group

__all__ = ["Explanation", "explain", "why_not"]


@dataclass(frozen=True)
class Explanation:
    """The decisions of one plan; `str()` of it is for people, `to_dict()` for programs, and a
    notebook shows it by itself.

    >>> print(Explanation({"scans": [], "left_alone": []}))
    no scan of this query is tamis's
    """

    _document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The decisions with stable keys.

        `{"scans": [{"table", "files_kept", "files_total", "bytes_kept", "bytes_total", "rows_kept",
        "rows_total", "row_groups_kept", "row_groups_total", "planning_ms", "timing", "fallback",
        "fallback_reason", "observed", "files_read", "bytes_read", "runtime": [{"sql", "prunes"}],
        "implied", "goals": [{"goal", "reason"}], "conjuncts": [{"sql", "pushdown", "reason",
        "pruned_by", "pruned_files", "pruned_bytes", "pruned_rows", "added_files", "added_bytes",
        "added_rows"}]}], "left_alone": [{"table", "reason", "reasons"}], "answered": [{"table",
        "goal", "files"}]}`.

        Sizes are bytes. None: not known; of row groups also that nobody had to look at them. Bytes
        and rows kept are those of the row groups that are read, files kept those that are opened.
        `pushdown` is "exact", "inexact" or "unsupported". `pruned_…` is what the conjunct prunes
        on its own, of the whole table; `added_…` what it does beyond the conjuncts before it. A
        reason is None, or has "code", "text" and "fix" (None: there is none): docs/reasons.md. Of
        what was left alone "reason" is one sentence, and "reasons" has the codes. `timing` has
        "listing_ms", "question_ms", and of the question "planner_ms" and "opening_ms", None where
        an earlier answer was remembered. `answered` is what the statistics of so many files gave,
        so that no scan is in the plan.

        `pruned_by` names the statistics that rule out files for the conjunct: "bounds" of columns,
        "values", "bloom" and "expression", as the index records them.

        `runtime` lists conditions whose values are known only when the query runs; by those that
        have "prunes" the scan then rules out files. `files_read` and `bytes_read` are what the scan
        reads: with such a condition None before the query ran, and afterwards what was read.

        In the mode `observe` a scan is `observed`: what is kept, and what becomes of conjuncts, is
        what would have been, and `files_read` is what plain Spark reads.
        """
        return self._document

    def __str__(self) -> str:
        from tamis.report.tree import as_text

        return as_text(self._document)

    def __rich__(self) -> Group:
        from tamis.report.tree import tree

        return tree(self._document)

    def _repr_html_(self) -> str:
        from tamis.report.html import to_html

        return to_html(self._document)


def explain(df: DataFrame) -> Explanation:
    """Explain which files each scan of the DataFrame reads, and why. Plans it; never runs it.

    Raises:
        TamisError: a Spark Connect DataFrame, or a session without tamis.
        TypeError: no DataFrame.

    Example:
        print(tamis.explain(spark.table("lineitem").where("l_shipdate = DATE '1995-03-15'")))
    """
    if not hasattr(df, "sparkSession"):
        raise TypeError(
            f"explain takes a DataFrame, not {type(df).__name__}: tamis.explain(spark.sql(…)); "
            "in SQL there is tamis_explain('SELECT …')"
        )
    jvm = getattr(df.sparkSession, "_jvm", None) if hasattr(df, "_jdf") else None
    if jvm is None:
        raise TamisError(
            "this is a Spark Connect DataFrame, whose plan is on the server: use EXPLAIN "
            "(df.explain()), which shows what was decided, or tamis.explain in a classic session"
        )
    from py4j.java_gateway import JavaClass

    shim = jvm.io.tamis.Tamis  # a name that no class has is a JavaPackage
    if not isinstance(shim, JavaClass):
        raise TamisError(
            "this session runs without tamis: make it with tamis.configure(SparkSession.builder), "
            "in a process that has no session yet"
        )
    return Explanation(json.loads(shim.explain(df._jdf)))


def why_not(df: DataFrame) -> Explanation:
    """Explain only what did not become exact, goals of which nothing came and relations that were
    left alone; and how to change that. What statistics decide but for a few files at the edge of a
    range is no news. Raises as `explain`.

    Example:
        print(tamis.why_not(spark.table("lineitem").where("l_quantity < 24").limit(10)))
    """
    return Explanation(only_what_did_not(explain(df).to_dict()))


def only_what_did_not(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a document that says no.

    >>> only_what_did_not({"scans": [], "left_alone": []})["nothing"]
    "no scan of this query is tamis's"
    """
    scans = []
    for scan in document["scans"]:
        left = [each for each in scan["conjuncts"] if _is_news(each)]
        goals = [each for each in scan.get("goals", []) if each["reason"]]
        if left or goals or scan["fallback"]:
            scans.append(scan | {"conjuncts": left, "goals": goals, "implied": []})
    return {"scans": scans, "left_alone": document["left_alone"], "nothing": _nothing(document)}


def _nothing(document: dict[str, Any]) -> str:
    """What to say where no scan is left to speak of."""
    if not document["scans"] and not document.get("answered"):
        return "no scan of this query is tamis's"
    if document.get("answered") or any(scan["conjuncts"] for scan in document["scans"]):
        return "every filter is exact, or but for a few files"
    return "there is no filter"


def _is_news(conjunct: dict[str, Any]) -> bool:
    code: str | None = (conjunct["reason"] or {}).get("code")
    return conjunct["pushdown"] != "exact" and code != "ONLY_AT_THE_EDGE"

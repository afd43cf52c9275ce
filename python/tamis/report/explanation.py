"""Explanations: what tamis decided for the scans of a DataFrame, as text, HTML and data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import WITHOUT_TAMIS, TamisError
from tamis.jar import shim_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import Group

__all__ = ["Explanation", "explain", "why_not"]


@dataclass(frozen=True)
class Explanation:
    """The decisions for one plan.

    `str()` gives text for people, `to_dict()` data for programs. Notebooks display the object.

    >>> print(Explanation({"scans": [], "left_to_spark": []}))
    tamis does not plan any scan of this query
    """

    _document: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the decisions, with stable keys.

        `{"scans": [{"table", "files_kept", "files_total", "bytes_kept", "bytes_total", "rows_kept",
        "rows_total", "row_groups_kept", "row_groups_total", "planning_ms", "timing", "fallback",
        "fallback_reason", "remembered_files", "remembered_row_groups", "observed", "files_read",
        "bytes_read", "runtime": [{"sql", "prunes"}],
        "implied", "goals": [{"goal", "reason"}], "conjuncts": [{"sql", "pushdown", "reason",
        "remembered", "pruned_by", "pruned_files", "pruned_bytes", "pruned_rows", "added_files",
        "added_bytes", "added_rows"}]}], "left_to_spark": [{"table", "reason", "reasons"}],
        "answered": [{"table", "goal", "files"}]}`. The document of `why_not` also has "nothing":
        the sentence to show if no scan is left.

        Sizes are in bytes. None means not known. For row groups, it can also mean that they were
        not evaluated.
        The kept bytes and rows are those of the row groups that are read. The kept files are those
        that are opened. `pushdown` is "exact", "inexact" or "unsupported". `pruned_…` is what the
        conjunct prunes on its own, out of the whole table; `added_…` is what it prunes beyond the
        conjuncts before it. A reason is None, or has "code", "text" and "fix" (None if there is no
        fix); see docs/reasons.md. In `left_to_spark`, "reason" is one sentence, and "reasons" has
        the codes. `timing` has "listing_ms" and "question_ms", and as parts of the question
        "planner_ms" and "opening_ms", which are None if a cached answer was used. `answered` lists
        goals that statistics answer without a scan; `files` is the number of files whose statistics
        were used.

        `pruned_by` names the statistics that rule out files for the conjunct, as the index records
        them: "bounds" of columns, "values", "bloom" and "expression"; "evaluated" means that
        Spark has evaluated the conjunct for each value that a file can hold.

        `remembered_files` counts the files that are left out only because an earlier scan found no
        row in them that passes these conjuncts. `remembered_row_groups` counts the row groups of
        the other files that are left out for the same reason. A conjunct is `remembered` if it is
        exact because an earlier scan found it true for every row.

        `runtime` lists conditions whose values are known only when the query runs. If "prunes" is
        true, the condition rules out files at that time. `files_read` and `bytes_read` are what the
        scan reads. If a condition prunes, they are None until the query has run.

        In the mode `observe` a scan is `observed`: the kept files and the outcomes of conjuncts are
        those that would have applied, and `files_read` is what plain Spark reads.
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
    """Explain which files each scan of the DataFrame reads, and why.

    Plans the query but never runs it.

    Raises:
        TamisError: The DataFrame is one of Spark Connect, or its session runs without tamis.
        TypeError: The argument is not a DataFrame.

    Example:
        print(tamis.explain(spark.table("lineitem").where("l_shipdate = DATE '1995-03-15'")))
    """
    if not hasattr(df, "sparkSession"):
        raise TypeError(
            f"explain takes a DataFrame, not {type(df).__name__}: use tamis.explain(spark.sql(…)), "
            "or in SQL tamis_explain('SELECT …')"
        )
    jvm = getattr(df.sparkSession, "_jvm", None) if hasattr(df, "_jdf") else None
    if jvm is None:
        raise TamisError(
            "this is a Spark Connect DataFrame, whose plan is on the server: use EXPLAIN "
            "(df.explain()), which shows what was decided, or tamis.explain in a classic session"
        )
    shim = shim_in(jvm)
    if shim is None:
        raise TamisError(WITHOUT_TAMIS)
    return Explanation(json.loads(shim.explain(df._jdf)))


def why_not(df: DataFrame) -> Explanation:
    """Explain only what was not achieved, and how to change that.

    This covers conjuncts that are not exact, goals that saved no files, and relations that are left
    to Spark. Conjuncts that statistics decide for all but a few files at the edge of a range are
    omitted. Raises the same errors as `explain`.

    Example:
        print(tamis.why_not(spark.table("lineitem").where("l_quantity < 24").limit(10)))
    """
    return Explanation(only_what_did_not(explain(df).to_dict()))


def only_what_did_not(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a document that explains what was not achieved.

    >>> only_what_did_not({"scans": [], "left_to_spark": []})["nothing"]
    'tamis does not plan any scan of this query'
    """
    scans = []
    for scan in document["scans"]:
        left = [each for each in scan["conjuncts"] if _is_news(each)]
        goals = [each for each in scan.get("goals", []) if each["reason"]]
        if left or goals or scan["fallback"]:
            scans.append(scan | {"conjuncts": left, "goals": goals, "implied": []})
    left = document["left_to_spark"]
    return {"scans": scans, "left_to_spark": left, "nothing": _nothing(document)}


def _nothing(document: dict[str, Any]) -> str:
    """Return the message for a document in which no scan is left."""
    if not document["scans"] and not document.get("answered"):
        return "tamis does not plan any scan of this query"
    if document.get("answered") or any(scan["conjuncts"] for scan in document["scans"]):
        return (
            "every filter that is known before the query runs is exact, or decided for all but a "
            "few files"
        )
    return "there is no filter"


def _is_news(conjunct: dict[str, Any]) -> bool:
    code: str | None = (conjunct["reason"] or {}).get("code")
    return conjunct["pushdown"] != "exact" and code != "ONLY_AT_THE_EDGE"

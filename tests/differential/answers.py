"""Answers of a statement with tamis off and on, and what counts as a difference.

Plain Spark is the oracle. Rows are compared as bags; if the statement sorts, the sort keys must
also be in the same order. If a LIMIT leaves ties or the order open, the number of rows must be
equal, and all rows must be among those of the statement without LIMIT.
"""

from __future__ import annotations

import functools
import json
import math
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tests.differential.grammar import Statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: After this time a query is cancelled and not compared.
LONGEST_SECONDS = 30
#: Ways to leave out files besides filters. Those that may leave out a file in which a filter raises
#: an error, and those that must not: docs/how_it_works.md.
HIDING = ("limit", "runtimeFilters")
GOALS = (*HIDING, "topK", "joins", "aggregates", "residualSplit")
#: The rule of Spark that may drop the Sort below a LIMIT.
_LIMIT_PUSH_DOWN = "org.apache.spark.sql.catalyst.optimizer.LimitPushDown"


@dataclass
class Tally:
    """Counts of one run. `files_kept` and `exact` show that the comparison was not trivial."""

    queries: int = 0
    failed: int = 0
    spared: int = 0
    unreliable: int = 0
    cancelled: int = 0
    rows: int = 0
    empty: int = 0
    files_kept: int = 0
    files_total: int = 0
    row_groups_kept: int = 0
    row_groups_total: int = 0  # of scans that examined row groups
    exact: int = 0
    goals: int = 0
    fallbacks: int = 0
    remembered: int = 0
    remembered_row_groups: int = 0
    remembered_conjuncts: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another run."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {len(self.differences)} differences; "
            f"{self.files_kept} of {self.files_total} files kept, {self.row_groups_kept} of "
            f"{self.row_groups_total} row groups, {self.exact} exact conjuncts, {self.goals} goals, "
            f"{self.fallbacks} fallbacks, {self.remembered} files and "
            f"{self.remembered_row_groups} row groups left out from memory, "
            f"{self.remembered_conjuncts} conjuncts exact from memory; "
            f"{self.rows} rows, {self.empty} answers without any, "
            f"{self.failed} queries failed on both sides, {self.spared} on one side, on a row of a "
            f"pruned file or of an abandoned stage, {self.unreliable} have a LIMIT that Spark applies wrongly, "
            f"{self.cancelled} were cancelled"
        )


@dataclass(frozen=True)
class Difference:
    """How two answers differ: `kind` is one of rows, raises, hides, warns."""

    kind: str
    text: str


@dataclass(frozen=True)
class _Answer:
    rows: list[tuple[Any, ...]] | None
    error: str = ""
    frame: Any = None


def compare(spark: SparkSession, statement: Statement, tally: Tally) -> Difference | None:
    """Run the statement with tamis off and on. Return the difference, if any."""
    tally.queries += 1
    off = _run(spark, statement.sql, "false")
    texts = _start_of_warnings(spark)
    on = _run(spark, statement.sql, "true")
    warnings = _warnings(spark, texts)
    if "cancelled" in (off.error, on.error):
        tally.cancelled += 1
        return None
    difference = _difference(spark, statement, off, on, tally)
    if difference is None and warnings:
        difference = Difference("warns", "\n".join(warnings))
    if on.frame is not None:
        _count(spark, on.frame, tally)
    return difference


def _difference(
    spark: SparkSession, statement: Statement, off: _Answer, on: _Answer, tally: Tally
) -> Difference | None:
    if off.rows is None and on.rows is None:
        tally.failed += 1
        return None
    if on.rows is None:
        if statement.tail.items and _run(spark, statement.whole, "false").rows is None:
            # Without LIMIT plain Spark fails too. Which rows a LIMIT reads first depends on the sizes
            # of the splits, so a missing file or a bad row may come before or after the last row.
            tally.failed += 1
            return None
        if _raises_when_not_adaptive(spark, statement.sql, "false"):
            tally.spared += 1
            return None
        return Difference("raises", f"off: {_short(off.rows)}\non: {on.error}")
    if off.rows is None:
        # A file that is gone is an error only for a query that reads it, whatever prunes it.
        if (
            _GONE not in off.error
            and _raises_without(spark, statement.sql, GOALS)
            and not _raises_without(spark, statement.sql, HIDING)
            and not _has_empty_scan(spark, on.frame)
            and not _raises_when_not_adaptive(spark, statement.sql, "true")
        ):
            return Difference("hides", f"off: {off.error}\non: {_short(on.rows)}")
        tally.spared += 1
        return None
    tally.rows += len(on.rows)
    tally.empty += not on.rows
    if _differ(spark, statement, off.rows, on.rows, tally):
        missing = Counter(map(repr, off.rows)) - Counter(map(repr, on.rows))
        added = Counter(map(repr, on.rows)) - Counter(map(repr, off.rows))
        return Difference(
            "rows",
            f"off: {_short(off.rows)}\non: {_short(on.rows)}\n"
            f"only off: {list(missing)[:5]}\nonly on: {list(added)[:5]}",
        )
    return None


def _differ(
    spark: SparkSession,
    statement: Statement,
    off: list[tuple[Any, ...]],
    on: list[tuple[Any, ...]],
    tally: Tally,
) -> bool:
    if len(off) != len(on):
        return True
    keys = statement.keys
    if keys and [[row[k] for k in keys] for row in off] != [[row[k] for k in keys] for row in on]:
        return True
    if _same_bag(off, on):
        return False
    if not statement.tail.items:
        return True
    whole = _run(spark, statement.whole, "false")
    if whole.rows is None:
        # The rows beyond the LIMIT may raise an error without it; then any rows are accepted.
        return False
    is_wrong = bool(Counter(off) - Counter(whole.rows)), bool(Counter(on) - Counter(whole.rows))
    # If Spark drops the Sort, whether the rows are right depends on the order of the files.
    if is_wrong[0] or (is_wrong[1] and drops_a_sort(spark, statement.sql)):
        tally.unreliable += 1
        return False
    return is_wrong[1]


def drops_a_sort(spark: SparkSession, sql: str) -> bool:
    """Return whether plain Spark loses a Sort when it pushes a LIMIT down.

    Spark 4.1 drops that of (SELECT … ORDER BY … LIMIT 2) LEFT JOIN … LIMIT 1, for example.
    """
    with _confs(spark, {"spark.tamis.enabled": "false"}):
        pushed = _sorts(spark, sql)
        with _confs(spark, {"spark.sql.optimizer.excludedRules": _LIMIT_PUSH_DOWN}):
            return pushed < _sorts(spark, sql)


def _sorts(spark: SparkSession, sql: str) -> int:
    """Return the number of Sort nodes in the optimized plan of a statement."""
    left = [_frame(spark, sql)._jdf.queryExecution().optimizedPlan()]
    sorts = 0
    while left:
        node = left.pop()
        sorts += node.nodeName() == "Sort"
        children = node.children()
        left += map(children.apply, range(children.size()))
    return sorts


def _same_bag(off: list[tuple[Any, ...]], on: list[tuple[Any, ...]]) -> bool:
    if Counter(off) == Counter(on):
        return True
    # Sums of floating-point numbers depend on the order of rows.
    pairs = zip(sorted(off, key=repr), sorted(on, key=repr), strict=True)
    return all(len(a) == len(b) and all(map(_close, a, b)) for a, b in pairs)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)


def _plain(value: Any) -> Any:
    """Convert the value so that values that are equal in SQL are equal in Python and hashable."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0  # -0.0 is 0.0
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return tuple(sorted((repr(_plain(k)), _plain(v)) for k, v in value.items()))
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value


def _run(spark: SparkSession, sql: str, enabled: str) -> _Answer:
    spark.conf.set("spark.tamis.enabled", enabled)
    late = threading.Event()

    def cancel() -> None:
        late.set()
        spark.sparkContext.cancelAllJobs()

    timer = threading.Timer(LONGEST_SECONDS, cancel)
    timer.start()
    try:
        frame = _frame(spark, sql)
        return _Answer([_plain(tuple(row)) for row in frame.collect()], frame=frame)
    except Exception as error:  # both sides may fail, in a task or in a broadcast
        return _Answer(None, "cancelled" if late.is_set() else _message(error))
    finally:
        timer.cancel()


def _frame(spark: SparkSession, sql: str) -> DataFrame:
    """Call `spark.sql` without arguments: with them PySpark looks up JVM classes on each call."""
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(spark._jsparkSession.sql(sql), spark)


def _message(error: Exception) -> str:
    return str(error).partition("\nJVM stacktrace")[0][:600] or type(error).__name__


def _raises_without(spark: SparkSession, sql: str, goals: Sequence[str]) -> bool:
    """Return whether the error occurs with tamis if it does not pursue these goals.

    Rows of files that the filters of a query rule out need not raise their errors.
    """
    with _confs(spark, {f"spark.tamis.{name}.enabled": "false" for name in goals}):
        return _run(spark, sql, "true").rows is None


def _has_empty_scan(spark: SparkSession, frame: DataFrame) -> bool:
    """Return whether a scan of the query has no file left.

    Spark does not read the rest of a join with it, so filters of the other side raise nothing.
    """
    return any(scan["files_kept"] == 0 for scan in _scans(spark, frame))


def _raises_when_not_adaptive(spark: SparkSession, sql: str, enabled: str) -> bool:
    """Return whether the error occurs if the plan does not change while it runs.

    If one side of a join turns out to be empty, an adaptive plan leaves out the other side, unless
    that has failed before: whether its filters raise is then a matter of time, on both sides of the
    comparison.
    """
    with _confs(spark, {"spark.sql.adaptive.enabled": "false"}):
        return _run(spark, sql, enabled).rows is None


@contextmanager
def _confs(spark: SparkSession, confs: dict[str, str]) -> Iterator[None]:
    """Set confs for the duration of the block."""
    former = {name: spark.conf.get(name, None) for name in confs}
    for name, text in confs.items():
        spark.conf.set(name, text)
    try:
        yield
    finally:
        for name, before in former.items():
            if before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, before)


#: Part of the message of Spark's error for a listed file that was deleted.
_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
#: Parts of warnings that report a failure. Other warnings are correct: files changed since listing.
_FAILURES = ("failed", "what plain Spark would read", "could not", "not counted", "wrong")


@functools.cache
def _jvm_functions(jvm: Any) -> dict[str, Any]:
    """Return functions of the extension. A lookup takes as long as planning a small query."""
    warnings, tamis = jvm.io.tamis.bridge.Warnings, jvm.io.tamis.Tamis
    return {"resolved": warnings.resolved, "all": warnings.all, "warnings": tamis.warnings, "scans": tamis.scans}  # fmt: skip


def _start_of_warnings(spark: SparkSession) -> int:
    functions = _jvm_functions(spark._jvm)
    functions["resolved"]("")  # so that warnings are repeated
    return int(functions["all"]().size())


def _warnings(spark: SparkSession, start: int) -> list[str]:
    functions = _jvm_functions(spark._jvm)
    if functions["all"]().size() == start:
        return []
    texts = list(functions["warnings"]())[start:]
    return [text for text in texts if any(part in text for part in _FAILURES)]


def _scans(spark: SparkSession, frame: DataFrame) -> list[dict[str, Any]]:
    scans: list[dict[str, Any]] = json.loads(_jvm_functions(spark._jvm)["scans"](frame._jdf))
    return scans


def _count(spark: SparkSession, frame: DataFrame, tally: Tally) -> None:
    for scan in _scans(spark, frame):
        tally.files_kept += scan["files_kept"]
        tally.files_total += scan["files_total"]
        if scan["row_groups_kept"] is not None and scan["row_groups_total"] is not None:
            tally.row_groups_kept += scan["row_groups_kept"]
            tally.row_groups_total += scan["row_groups_total"]
        tally.exact += sum(c["pushdown"] == "exact" for c in scan["conjuncts"])
        tally.goals += sum(goal.get("reason") is None for goal in scan.get("goals") or [])
        tally.fallbacks += scan["fallback"] is not None
        tally.remembered += scan["remembered_files"]
        tally.remembered_row_groups += scan["remembered_row_groups"]
        tally.remembered_conjuncts += sum(c["remembered"] for c in scan["conjuncts"])


def _short(rows: list[tuple[Any, ...]] | None) -> str:
    return "" if rows is None else f"{len(rows)} rows: {sorted(map(repr, rows))[:6]}"

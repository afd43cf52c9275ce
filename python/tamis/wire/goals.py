"""The goals that a question may have besides its filters, and their answers.

There is one struct per goal, and one per form of answer. `NothingAnswer` has the reason if a goal
changes nothing.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.scans import ScanRequest

__all__ = [
    "AggregateAnswer",
    "AggregateDocument",
    "AggregateGoal",
    "ClusteredAnswer",
    "ClusteredGoal",
    "ColumnFactsDocument",
    "FactsAnswer",
    "FactsGoal",
    "FilesAnswer",
    "Goal",
    "GoalAnswer",
    "JoinGoal",
    "KeySource",
    "LimitGoal",
    "NothingAnswer",
    "OrderGoal",
    "OrderedAnswer",
    "PartialDocument",
    "ReasonDocument",
    "SampleDocument",
    "SampledAnswer",
    "SketchDocument",
    "SortKeyDocument",
    "SplitGoal",
    "TopKGoal",
]


class ReasonDocument(msgspec.Struct, frozen=True):
    code: str
    arguments: dict[str, str | int]
    text: str
    fix: str | None = None


class LimitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="limit"):
    """Find files that are enough for any `rows` rows that pass the filters.

    Attributes:
        rows: The number of rows.
        outputs: Documents of the expressions that Spark computes for each of these rows.
    """

    rows: int
    outputs: list[Any] = []


class SortKeyDocument(msgspec.Struct, frozen=True):
    """A key of an ORDER BY. `key` is an expression document with its own zones."""

    key: Any
    descending: bool
    nulls_first: bool


class SampleDocument(msgspec.Struct, frozen=True):
    """The query can read a sample of the files first, and then choose files by what it has found.

    - `columns`: the types of the columns that the query reads.
    - `sampled`: the types of the columns that it reads of a sample.
    - `least`: the milliseconds that a sample has to save.
    - `only`: the number of rows at or before a position is not known from the scan alone, because
      a join above it drops rows.
    """

    columns: list[str]
    sampled: list[str]
    least: int
    only: bool = False


class TopKGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="topk"):
    """Find the files that can hold one of the first `rows` rows that pass the filters.

    - `key`: the first key of the ORDER BY, an expression document with its own zones.
    - `only`: no other key follows, so rows with an equal key are interchangeable.
    - `further`: the keys that follow and can be compared by bounds, up to the first that cannot.
    - `complete`: no other key follows those of `further`.
    - `sample`: null if the query cannot read a sample.
    """

    rows: int
    key: Any
    descending: bool
    nulls_first: bool
    only: bool = False
    further: list[SortKeyDocument] = []
    complete: bool = False
    sample: SampleDocument | None = None


class SplitGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="split"):
    """Find the fully matching files, if it pays off to scan them without the filters.

    - `freed`: the types of the columns that only the filters need.
    - `columns`: the number of columns that the scan returns.
    - `least`: the milliseconds that splitting the scan has to save.
    """

    freed: list[str]
    columns: int
    least: int


class KeySource(msgspec.Struct, frozen=True):
    """A scan of the other side of a join, and the join key over its columns.

    `key` is an expression document.
    """

    scan: ScanRequest
    key: Any


class JoinGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="join"):
    """Find the files with rows that can have a match on the other side of a join.

    - `key`: the join key over the columns of this scan, an expression document.
    - `sources`: the scans from which the keys of the other side come.
    - `others`: an expression document of a predicate over this scan, true if the key equals one of
      the other side's keys that do not come from a scan; null if all of them come from scans.
    """

    key: Any
    sources: list[KeySource]
    others: Any = None


class ClusteredGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="clustered"):
    """Find which of these keys have each value in few files. Keys are expression documents."""

    keys: list[Any]


class SketchDocument(msgspec.Struct, frozen=True):
    """How Spark computes the registers of approx_count_distinct: see evaluation.domain.registers.

    - `deviation`: the relative standard deviation that the query allows.
    - `spark`: the version of Spark.
    """

    deviation: float
    spark: str


class AggregateDocument(msgspec.Struct, frozen=True):
    """An aggregate. `argument` is an expression document, or null for COUNT(*).

    `filter` is the expression document of the condition of FILTER (WHERE …), or null.

    `limit`, of a sum: a whole number, as text. The sum is answered only if all partial sums of
    unscaled values, in any order, are between -limit and limit, exclusive.

    `sketch`: of approx_count_distinct. Its registers are answered, not the number of values.
    """

    function: Literal["count", "min", "max", "sum", "approx_count_distinct"]
    argument: Any = None
    filter: Any = None
    limit: str | None = None
    sketch: SketchDocument | None = None


class AggregateGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="aggregate"):
    """Find the part of these aggregates over the filtered rows that statistics can answer.

    Rows are grouped by their directories and by columns.

    - `keys` has the number of the group, from 0, for each directory of the snapshot. Null: all
      directories have the number 0.
    - `by` has the documents of the columns. If it is empty and `keys` is null, there is a single
      group, which exists even without rows.
    - `sample`: null if the query cannot read a sample. All aggregates are MIN or MAX of columns,
      without a FILTER and in a single group, if it can.
    """

    aggregates: list[AggregateDocument]
    keys: list[int] | None = None
    by: list[Any] = []
    sample: SampleDocument | None = None


class FactsGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="facts"):
    """Find what Spark's optimizer can use about all files of the listing, whatever the filters.

    `columns` are expression documents. The answer is null unless an index describes every file.
    """

    columns: list[Any]


class OrderGoal(msgspec.Struct, frozen=True, tag_field="kind", tag="order"):
    """Find whether the rows of each task are sorted, and in which order a task reads its files.

    - `keys`: the documents of the columns of the order.
    - `descending`: one flag per key. NULLs come first, or last if it descends.
    - `tasks`: the number of the task that reads the files of each directory of the snapshot.
    """

    keys: list[Any]
    descending: list[bool]
    tasks: list[int]


class ColumnFactsDocument(msgspec.Struct, frozen=True):
    """What is known of a column: see tables.facts.ColumnFacts.

    `least` and `greatest` are constants of expression documents.
    """

    least: bool | int | float | str | None = None
    greatest: bool | int | float | str | None = None
    nulls: int | None = None
    distinct: int | None = None
    average_length: int | None = None
    longest: int | None = None


class FactsAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="facts"):
    """What is known of all files of the listing.

    - `rows`: the number of rows.
    - `counts_distinct`: whether the index records the number of distinct values of some column.
    - `columns`: one per column of the goal.
    """

    rows: int
    counts_distinct: bool
    columns: list[ColumnFactsDocument]


class PartialDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """What statistics answer for one group.

    - `values`: one constant of expression documents per aggregate. The value of a sum is the
      unscaled value, as text. That of approx_count_distinct is its registers, as BINARY.
    - `by`: one such constant per column of the goal.
    """

    key: int
    values: list[bool | int | float | str | None]
    by: list[bool | int | float | str | None] = []


class AggregateAnswer(
    msgspec.Struct, frozen=True, tag_field="kind", tag="aggregate", omit_defaults=True
):
    """The part of an aggregate that statistics answer.

    - `files`: the files that still have to be read.
    - `covered`: the number of files whose aggregates are in `groups`.
    - `skipped`: the number of files that are in neither, because they change nothing.
    - `groups`: the aggregates of the covered files. Groups without a row are left out.
    - `sample`: files that the query should read first, some of `files`. Null: there is no sample.
    """

    files: Kept
    covered: int
    skipped: int
    groups: list[PartialDocument]
    sample: Kept | None = None


class FilesAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="files"):
    """The files that are enough for the goal.

    For a TopKGoal, no needed row has a value of the key after `until`, which is a constant of
    expression documents. It is null if that value is not known or is not such a constant.
    """

    files: Kept
    until: int | str | None = None


class SampledAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="sampled"):
    """The files that are enough for a TopKGoal, and the samples that the query should read first.

    - `files`, `until`: as in FilesAnswer.
    - `samples`: the files of each sample, in the order in which they are read. A later one is read
      only if the earlier ones hold too few rows.
    """

    files: Kept
    until: int | str | None
    samples: list[Kept]


class ClusteredAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="clustered"):
    """One flag per key."""

    flags: list[bool]


class OrderedAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="ordered"):
    """The rows of these files are sorted, also those of several files of one task.

    - `files`: all files that the filters keep.
    - `places`: for each of them, a number by which a task sorts its files. Empty: each task reads
      one file.
    """

    files: Kept
    places: list[int]


class NothingAnswer(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing"):
    """The reason why the goal changes nothing."""

    reason: ReasonDocument


Goal: TypeAlias = (
    LimitGoal
    | TopKGoal
    | SplitGoal
    | JoinGoal
    | ClusteredGoal
    | AggregateGoal
    | FactsGoal
    | OrderGoal
)
GoalAnswer: TypeAlias = (
    FilesAnswer
    | SampledAnswer
    | ClusteredAnswer
    | AggregateAnswer
    | FactsAnswer
    | OrderedAnswer
    | NothingAnswer
)

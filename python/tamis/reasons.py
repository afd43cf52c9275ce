"""Why something was not pruned, not exact or left alone: one registry of reasons.

A reason is a stable code, its arguments, one sentence and the fix. Docs are generated from
`REASONS`; a test holds that every template takes the arguments that its example gives.

>>> why = reason("NO_STATISTICS", column="price")
>>> why.text
'no statistics are known for price'
>>> why.fix
'build the statistics index: tamis.index(spark, path).build(columns=["price"])'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["REASONS", "Argument", "Reason", "ReasonKind", "reason"]

Argument: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Reason:
    """One "no" and its explanation; `fix` is None where nothing can be done."""

    code: str
    arguments: Mapping[str, Argument]
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class ReasonKind:
    """A line of the registry: templates of the sentence and of the fix, and example arguments."""

    code: str
    text: str
    fix: str | None
    example: Mapping[str, Argument]


REASONS: Final[Mapping[str, ReasonKind]] = {
    kind.code: kind
    for kind in (
        ReasonKind(
            "NO_STATISTICS",
            "no statistics are known for {column}",
            'build the statistics index: tamis.index(spark, path).build(columns=["{column}"])',
            {"column": "l_quantity"},
        ),
        ReasonKind(
            "FOOTERS_WITHOUT_STATISTICS",
            "the footers of the files hold no statistics of {column} that can be used",
            "record them from the rows: "
            'tamis.index(spark, path).build(columns={{"{column}": "bounds"}})',
            {"column": "ts"},
        ),
        ReasonKind(
            "FILES_WITHOUT_STATISTICS",
            "some files have no statistics, and {predicate} is applied to their rows",
            "refresh the statistics index: tamis.index(spark, path).refresh()",
            {"predicate": "false"},
        ),
        ReasonKind(
            "NO_NULL_COUNTS",
            "the number of NULLs is not known for {column}",
            'build the statistics index: tamis.index(spark, path).build(columns=["{column}"])',
            {"column": "l_quantity"},
        ),
        ReasonKind(
            "SIGNED_ZERO",
            "{predicate} names a floating-point zero, which Parquet's own filters take for less "
            "than another zero: it is applied again",
            None,
            {"predicate": "price >= 0.0D"},
        ),
        ReasonKind(
            "READER_LOSES_ROWS",
            "told of {predicate}, Spark's reader of {format} may leave out rows that pass it: it "
            "is applied again",
            None,
            {"predicate": "a = 2", "format": "json"},
        ),
        ReasonKind(
            "RANGES_OVERLAP",
            "files may hold rows on both sides of {predicate}",
            "cluster the table by {column}, so that the ranges of its files overlap less",
            {"predicate": "l_quantity < 24", "column": "l_quantity"},
        ),
        ReasonKind(
            "VALUES_MIXED",
            "some files hold values on both sides of {predicate}",
            None,
            {"predicate": "upper(name) = 'A'"},
        ),
        ReasonKind(
            "NOT_ON_PARTITION_BOUNDARY",
            "the constant of {predicate} lies inside a {transform} partition of {column}",
            "compare {column} with the start of a partition",
            {"predicate": "ts < TIMESTAMP '2024-03-15 07:00'", "transform": "day", "column": "ts"},
        ),
        ReasonKind(
            "TRANSFORM_IS_NOT_ORDERED",
            "{transform} partitions of {column} say nothing about {predicate}",
            'build the statistics index: tamis.index(spark, path).build(columns=["{column}"])',
            {"predicate": "id > 5", "transform": "bucket[16]", "column": "id"},
        ),
        ReasonKind(
            "COLUMNS_ARE_COMPARED",
            "{predicate} compares columns: their ranges prove little about single rows",
            None,
            {"predicate": "l_shipdate < l_commitdate"},
        ),
        ReasonKind(
            "FUNCTION_NOT_UNDERSTOOD",
            "no rule is known for {function} in {predicate}",
            "compare the column itself with a constant, or record the expression: "
            "tamis.index(spark, path).build(expressions=[…])",
            {"function": "Soundex", "predicate": "soundex(name) = 'A100'"},
        ),
        ReasonKind(
            "FUNCTION_NOT_DECLARED",
            "nothing is declared of {function}, a user-defined function, for {predicate}",
            'declare what it keeps: tamis.declare(spark, "{function}", monotone=…) or image=…',
            {"function": "discretize", "predicate": "discretize(x) = 3"},
        ),
        ReasonKind(
            "DECLARED_FUNCTION",
            "{predicate} rests on what was declared of a function: it is always applied",
            None,
            {"predicate": "discretize(x) = 3"},
        ),
        ReasonKind(
            "EXPRESSION_NOT_UNDERSTOOD",
            "{predicate} is not understood",
            "compare a column with a constant of its own type",
            {"predicate": "rand() < 0.5"},
        ),
        ReasonKind(
            "CONSTANTS_NOT_COMPARABLE",
            "the sides of {predicate} have types that are not compared with each other",
            "cast the constant to the type of the column",
            {"predicate": "d = 'x'"},
        ),
        ReasonKind(
            "AND_KEEPS_BRANCH",
            "part of the AND is applied by the engine: {because}",
            None,
            {"because": "rand() < 0.5 is not understood"},
        ),
        ReasonKind(
            "OR_NEEDS_EVERY_BRANCH",
            "an OR prunes only if each of its branches does: {because}",
            "rewrite the OR as a UNION ALL, or make each branch prunable",
            {"because": "rand() < 0.5 is not understood"},
        ),
        ReasonKind(
            "INTERNAL_ERROR",
            "tamis failed and kept everything: {error}",
            "report it with the query plan; results are not affected",
            {"error": "ValueError: …"},
        ),
        ReasonKind(
            "LIMIT_NOT_COVERED",
            "the files whose rows surely all match hold fewer than {rows} rows, as far as is known",
            "cluster the table by the columns of the filter, so that more files match as a whole",
            {"rows": 10},
        ),
        ReasonKind(
            "SPLIT_NOT_NEEDED",
            "the filter is true of every row of the files, or of no file as a whole as far as is "
            "known",
            None,
            {},
        ),
        ReasonKind(
            "SPLIT_DOES_NOT_PAY",
            "scanning the {rows} rows of files that match as a whole without the filter would save "
            "about {saved} ms, and has to save {least}",
            None,
            {"rows": 1000, "saved": 1, "least": 200},
        ),
        ReasonKind(
            "TOPK_KEY_UNKNOWN",
            "nothing is known of {key} in the files, by which the rows are sorted",
            "sort by a column with statistics, or record the expression: "
            "tamis.index(spark, path).build(expressions=[…])",
            {"key": "soundex(name)"},
        ),
        ReasonKind(
            "TOPK_NOT_COVERED",
            "the files whose rows surely all match hold fewer than {rows} rows whose place by "
            "{key} is bounded, as far as is known",
            "cluster the table by the columns of the filter, so that more files match as a whole",
            {"key": "price", "rows": 10},
        ),
        ReasonKind(
            "TOPK_MAY_BE_NAN",
            "any of the files may hold NaN in {key}, which sorts as greater than all other values",
            "record the values: "
            'tamis.index(spark, path).build(columns={{"{key}": "bounds"}}), or filter NaN out',
            {"key": "price"},
        ),
        ReasonKind(
            "TOPK_RANGES_OVERLAP",
            "any of the files may hold one of the first {rows} rows by {key}",
            "cluster the table by {key}, so that the ranges of its files overlap less",
            {"key": "l_shipdate", "rows": 10},
        ),
        ReasonKind(
            "KEY_RANGE_UNKNOWN",
            "the values of {key} are not known of every file on the other side of the join",
            "build or refresh the statistics index of that table",
            {"key": "o_orderkey"},
        ),
        ReasonKind(
            "KEY_RANGE_COVERS",
            "every file may hold keys that the other side of the join has: {column}",
            "cluster the table by {column}, so that the ranges of its files overlap less",
            {"column": "l_orderkey"},
        ),
        ReasonKind(
            "AGGREGATE_NOT_COVERED",
            "no file is known to hold nothing but matching rows, and how many",
            "build the statistics index, and cluster the table by the columns of the filter",
            {},
        ),
        ReasonKind(
            "AGGREGATE_NOT_CERTAIN",
            "statistics do not say for certain what {aggregate} is in any file",
            "record it from the rows: "
            'tamis.index(spark, path).build(columns={{"{column}": "bounds"}})',
            {"aggregate": "max(name)", "column": "name"},
        ),
        ReasonKind(
            "AGGREGATE_NOT_UNDERSTOOD",
            "{aggregate} is not of a column with statistics",
            None,
            {"aggregate": "min(name)"},
        ),
    )
}


def reason(code: str, **arguments: Argument) -> Reason:
    """The reason of that code with these arguments; KeyError for a code that is not registered."""
    kind = REASONS[code]
    fix = None if kind.fix is None else kind.fix.format(**arguments)
    return Reason(code, arguments, kind.text.format(**arguments), fix)

"""The SQL with which Spark aggregates groups of the rows of each file: see `groups`.

Every row has the number `id` of its file, the columns `by<i>`, and for value k the columns `v<k>`
and `old<k>`, as in `row_sql`. A first query aggregates the rows, and a second one lists the groups.
A function of the shim adds up whole numbers: its result `sum<k>` is a struct of `positive`,
`negative` and `count`. Another one computes `registers<k>` for entry k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tamis.expr.sql import identifier
from tamis.indexing.format.aggregate_sql import APPROXIMATE, ROWS
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.groups import most_groups
from tamis.indexing.format.row_sql import MAX_BOUND, TEXT

__all__ = ["aggregates_sql", "group_columns", "group_keys", "listed_sql"]

#: What is recorded of each group, besides numbers of rows and values.
_CELLS: Final = {
    "count": (),
    "sum": ("positive", "negative"),
    "min": ("value",),
    "max": ("value",),
    APPROXIMATE: ("registers",),
}


def group_columns(entry: Entry) -> list[str]:
    """Return SQL of the columns `by<i>` by whose values aggregates are recorded, in each row."""
    assert entry.by is not None
    return [f"{identifier(path)} AS by{i}" for i, (path, _) in enumerate(entry.by)]


def group_keys(entry: Entry) -> list[str]:
    """Return the columns by which rows are grouped."""
    assert entry.by is not None
    return ["id", *(f"by{i}" for i in range(len(entry.by)))]


def aggregates_sql(
    entries: Sequence[Entry], sources: Sequence[int], as_decimals: bool
) -> list[str]:
    """Return SQL of the number `n` of rows and of the columns of `listed_sql`.

    Args:
        entries: Entries with the same columns `by<i>`.
        sources: For each of them, the number of its value, since entries may have the same.
        as_decimals: Whether sums are among them, as decimals.
    """
    wanted = ["count(*) AS n"]
    for k, (entry, source) in enumerate(zip(entries, sources, strict=True)):
        value = f"v{source}"
        if entry.guards:
            wanted.append(f"bool_or(old{source}) AS old{k}")
        is_whole = entry.kind == "sum" and not as_decimals
        if entry.kind == "sum" and as_decimals:
            # A sum that overflows the type of Spark's own sum is NULL: a query could not use it.
            for name, sign in (("positive", ">"), ("negative", "<")):
                some = f"IF({value} {sign} 0, {value}, NULL)"
                wanted.append(f"IF(count({some}) = 0, 0, try_sum({some})) AS {name}{k}")
        elif entry.kind in ("min", "max"):
            edge = f"{entry.kind}({value})"
            if entry.type in TEXT:
                edge = f"substring({edge}, 1, {MAX_BOUND + 1})"
            if entry.type == "string":  # raw bytes, because strings need not be valid UTF-8
                edge = f"CAST({edge} AS BINARY)"
            wanted.append(f"{edge} AS value{k}")
        if entry.sql != ROWS and not is_whole:
            wanted.append(f"count({value}) AS count{k}")
    return wanted


def listed_sql(
    entries: Sequence[Entry], sources: Sequence[int], as_decimals: bool, limit: int, cuts: bool
) -> str:
    """Return SQL of one row per file and group.

    Its columns are `id`, `by<i>`, the number `n` of rows, and for each entry `old<k>`, `count<k>`,
    `positive<k>`, `negative<k>`, `value<k>` and `registers<k>`, as far as it has them.

    Args:
        entries: As for `aggregates_sql`.
        sources: As for `aggregates_sql`.
        as_decimals: As for `aggregates_sql`.
        limit: The most rows.
        cuts: Whether instead only the first groups of each file are returned. The remaining ones of
            a file with too many have fewer rows than the file, so it does not count. Spark sorts
            the groups for that.
    """
    by = entries[0].by
    assert by is not None
    names = [f"by{i}" for i in range(len(by))]
    wanted = ["id", "n"]
    wanted += [
        # raw bytes, as above
        f"CAST({name} AS BINARY) AS {name}" if kind == "string" else name
        for name, (_, kind) in zip(names, by, strict=True)
    ]
    for k, (entry, source) in enumerate(zip(entries, sources, strict=True)):
        wanted.append(f"old{k}" if entry.guards else f"false AS old{k}")
        cells = [*_CELLS[entry.kind]]
        cells += ["count"] if entry.sql != ROWS else []
        is_whole = entry.kind == "sum" and not as_decimals
        wanted += [f"sum{source}.{c} AS {c}{k}" if is_whole else f"{c}{k}" for c in cells]
    listed = ", ".join(wanted)
    if not (cuts and names):
        return f"SELECT {listed} FROM {{grouped}} LIMIT {limit}"
    numbered = (
        f"SELECT *, row_number() OVER (PARTITION BY id ORDER BY {', '.join(names)}) AS place "
        "FROM {grouped}"
    )
    most = min(map(most_groups, entries))
    return f"SELECT {listed} FROM ({numbered}) WHERE place <= {most + 1}"

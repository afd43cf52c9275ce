"""The SQL with which Spark aggregates groups of the rows of each file: see `groups`.

Every row has the number `id` of its file, the columns `by<i>`, and for value k the columns `v<k>`
and `old<k>`, as in `row_sql`. A first query, or the extension, aggregates the rows, and a second
query lists the groups.
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


def aggregates_sql(entries: Sequence[Entry], sources: Sequence[int]) -> list[str]:
    """Return SQL of the number `n` of rows and of the columns that `listed_sql` reads.

    Args:
        entries: Entries with the same columns `by<i>`.
        sources: For each of them, the number of its value, since entries may have the same.
    """
    wanted = ["count(*) AS n"]
    for k, (entry, source) in enumerate(zip(entries, sources, strict=True)):
        value = f"v{source}"
        if entry.guards:
            wanted.append(f"bool_or(old{source}) AS old{k}")
        if entry.kind == "sum":
            # A sum that overflows the type of Spark's own sum is NULL: a query could not use it.
            for name, sign in (("positive", ">"), ("negative", "<")):
                some = f"IF({value} {sign} 0, {value}, NULL)"
                wanted.append(f"IF(count({some}) = 0, 0, try_sum({some})) AS {name}{k}")
        elif entry.kind in ("min", "max"):
            wanted.append(f"{entry.kind}({value}) AS value{k}")
        if entry.sql != ROWS:
            wanted.append(f"count({value}) AS count{k}")
    return wanted


def listed_sql(entries: Sequence[Entry], limit: int | None = None, cuts: bool = False) -> str:
    """Return SQL of one row per file and group.

    Its columns are `id`, `by<i>`, the number `n` of rows, and for each entry `old<k>`, `count<k>`,
    `positive<k>`, `negative<k>`, `value<k>` and `registers<k>`, as far as it has them.

    Args:
        entries: As for `aggregates_sql`.
        limit: The most rows; None: there is no limit.
        cuts: Whether instead only the first groups of each file are returned. The remaining ones of
            a file with too many have fewer rows than the file, so it does not count. Spark sorts
            the groups for that.
    """
    by = entries[0].by
    assert by is not None
    names = [f"by{i}" for i in range(len(by))]
    wanted = ["id", "n"]
    wanted += [
        # raw bytes, because strings need not be valid UTF-8
        f"CAST({name} AS BINARY) AS {name}" if kind == "string" else name
        for name, (_, kind) in zip(names, by, strict=True)
    ]
    for k, entry in enumerate(entries):
        wanted.append(f"old{k}" if entry.guards else f"false AS old{k}")
        wanted += [_cell(f"{cell}{k}", entry) for cell in _CELLS[entry.kind]]
        wanted += [f"count{k}"] if entry.sql != ROWS else []
    listed = ", ".join(wanted)
    if limit is None:
        return f"SELECT {listed} FROM {{grouped}}"
    if not (cuts and names):
        return f"SELECT {listed} FROM {{grouped}} LIMIT {limit}"
    numbered = (
        f"SELECT *, row_number() OVER (PARTITION BY id ORDER BY {', '.join(names)}) AS place "
        "FROM {grouped}"
    )
    most = min(map(most_groups, entries))
    return f"SELECT {listed} FROM ({numbered}) WHERE place <= {most + 1}"


def _cell(name: str, entry: Entry) -> str:
    """Return SQL of a cell. Text is cut where it is too long to be recorded."""
    if entry.kind not in ("min", "max") or entry.type not in TEXT:
        return name
    cut = f"substring({name}, 1, {MAX_BOUND + 1})"
    return f"CAST({cut} AS BINARY) AS {name}"  # raw bytes, as above

"""What containers and their groups contribute to aggregates, from recorded aggregates of groups.

A group is the rows of a container that have the same values in some columns. Aggregates of groups
can be combined like those of containers, because groups are disjoint. A filter over the columns of
the groups, and over columns whose bounds decide it, is true for all rows of a group or for none:

    file   group   rows   sum(x)   status = 'R' AND day < 5     contributes
    f1     'A'     700    9130     no row passes                nothing
    f1     'R'     300    4000     all rows pass (day is 1..3)  300, 4000
    f2     'R'     500    7000     unknown (day is 3..9)        (the file is read)

A container counts only if the rows of its groups are all of its rows: none was deleted since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.domain.group_places import places_of, sums_of
from tamis.evaluation.domain.registers import are_alike, merged
from tamis.evaluation.statistics import Grouped, GroupRows, Statistics
from tamis.expr.nodes import Column, Expr
from tamis.files.arrow_edges import cells_of
from tamis.files.group_statistics import GroupStatistics
from tamis.plan.goals.aggregate_filters import counting, decide, of_counting
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.signed_zeros import is_zero
from tamis.plan.goals.wide_sums import to_limbs

__all__ = ["by_cells", "container_totals", "group_contributions", "recorded"]

Longs = npt.NDArray[np.int64]


def recorded(grouped: Grouped, aggregate: Aggregate) -> GroupRows | None:
    """Return an aggregate of groups; None if it is not recorded for values of the same type."""
    if aggregate.argument is not None and aggregate.subject is None:
        return None
    rows = grouped.rows(aggregate.kind, aggregate.subject)
    # other types have other values, and other hashes
    needs_type = aggregate.function in (Function.MIN, Function.MAX, Function.DISTINCT)
    return None if rows is None or (needs_type and rows.type != aggregate.type) else rows


def container_totals(
    aggregate: Aggregate, name: str, statistics: Statistics, records: Longs
) -> tuple[Flags, dict[str, pa.Array]]:
    """Return which contributions of whole containers are known from groups, and what they are.

    Args:
        name: The prefix of the names of the columns, see `aggregate_functions.cells_to_combine`.
        records: The number of rows of each container.

    Returns:
        Flags, and the columns. They mean nothing where the flag is not set, and there may be none.
    """
    for grouped in statistics.grouped():
        rows = recorded(grouped, aggregate)
        if rows is None:
            continue
        known = (rows.sizes >= 0) & (sums_of(rows.sizes, _longs(rows.table, "rows")) == records)
        sure, cells = _cells(aggregate, name, rows)
        known &= sums_of(rows.sizes, (~sure).astype(np.int64)) == 0
        if known.any():
            return known, _totals(aggregate, name, rows.sizes, cells)
    return np.zeros(len(records), np.bool_), {}


def _totals(
    aggregate: Aggregate, name: str, sizes: Longs, cells: dict[str, pa.Array]
) -> dict[str, pa.Array]:
    if aggregate.function is Function.DISTINCT:
        return {name: merged(cells[name], sizes)}
    if aggregate.function not in (Function.MIN, Function.MAX):
        return {column: pa.array(sums_of(sizes, cell.to_numpy())) for column, cell in cells.items()}
    owner = pa.array(np.repeat(np.arange(len(sizes)), np.maximum(sizes, 0)))
    table = pa.table({"owner": owner, "value": cells[name]})
    extremes = table.group_by("owner").aggregate([("value", aggregate.function)])
    place = pc.index_in(pa.array(np.arange(len(sizes))), value_set=extremes["owner"])
    return {name: extremes[f"value_{aggregate.function}"].combine_chunks().take(place)}


def _cells(aggregate: Aggregate, name: str, rows: GroupRows) -> tuple[Flags, dict[str, pa.Array]]:
    """Return which contributions of groups are known, and what they are."""
    table = rows.table
    if aggregate.argument is None:
        return np.ones(len(table), np.bool_), {name: _plain(table, "rows")}
    count = _plain(table, "count")
    if aggregate.function is Function.COUNT:
        return np.ones(len(table), np.bool_), {name: count}
    if aggregate.function is Function.SUM:
        positive, negative = _plain(table, "positive"), _plain(table, "negative")
        sure = pc.and_(positive.is_valid(), negative.is_valid())
        cells = {name: count} | to_limbs(f"{name}.p", positive) | to_limbs(f"{name}.n", negative)
        return np.asarray(sure.to_numpy(zero_copy_only=False)), cells
    if aggregate.function is Function.DISTINCT:
        registers = _plain(table, "registers")
        alike = are_alike(registers)
        return alike, {name: pc.if_else(pa.array(alike), registers, None)}
    known, values = cells_of(_plain(table, "value"), rows.type)
    if rows.type.is_floating:
        known = known & ~is_zero(values)
    # a group without a value has a null: MIN and MAX of NULLs are NULL
    has_value = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
    return known & (has_value | (count.to_numpy() == 0)), {name: values}


def by_cells(count: int) -> list[str]:
    """Return the names of the columns with the values of groups."""
    return [f"by.{i}" for i in range(count)]


def group_contributions(
    aggregates: Sequence[Aggregate],
    by: Sequence[Column],
    conjuncts: Sequence[Expr],
    statistics: Statistics,
    records: Longs,
) -> Iterator[tuple[npt.NDArray[np.intp], Longs, pa.Table]]:
    """Yield the contributions of the groups of containers that statistics can replace.

    Args:
        aggregates: The aggregates.
        by: The columns by which they are grouped.
        conjuncts: The filters.
        statistics: The statistics of the containers.
        records: The number of rows of each container, -1 where it is not known.

    Yields:
        The ordinals of containers, each at most once; and a table with the columns `rows`, `by.i`
        and those of the aggregates, one row per group whose rows pass the filters, with the ordinal
        of the container of each.
    """
    left = records >= 0
    for grouped in statistics.grouped():
        places = [grouped.place_of(column) for column in by]
        found = [recorded(grouped, each) for each in aggregates]
        counted = grouped.rows(Function.COUNT, None)
        if counted is None or None in places or None in found or not left.any():
            continue
        sources = [counted, *(each for each in found if each is not None)]
        chosen = np.flatnonzero(left & _alike(sources, records))
        tables = [each.table.take(pa.array(places_of(each.sizes, chosen))) for each in sources]
        if not _same_groups(tables, len(grouped.by)):
            continue  # damaged: the groups of the entries are not the same
        owner = np.repeat(np.arange(len(chosen)), counted.sizes[chosen])
        rows = GroupRows(counted.type, counted.sizes[chosen], tables[0])
        groups = GroupStatistics(statistics.take(chosen), grouped.take(chosen), rows, owner)
        passes, decided = decide(conjuncts, groups)
        cells: dict[str, Any] = {"rows": _plain(tables[0], "rows")}
        for ordinal, (each, source, table) in enumerate(
            zip(aggregates, sources[1:], tables[1:], strict=True)
        ):
            rows = GroupRows(source.type, source.sizes, table)
            sure, columns = _cells(each, str(ordinal), rows)
            if each.filter is not None:
                counts, known = counting(each.filter, groups)
                columns = of_counting(each, str(ordinal), columns, counts)
                sure = known & (sure | ~counts)
            decided &= sure | ~passes
            cells |= columns
        for name, place in zip(by_cells(len(by)), places, strict=True):
            assert place is not None
            sure, cells[name] = cells_of(_plain(tables[0], f"by.{place}"), grouped.by[place])
            decided &= sure | ~passes
        # A container counts only if each of its groups is decided.
        whole = np.bincount(owner, ~decided, len(chosen)) == 0
        left[chosen[whole]] = False
        taken = np.flatnonzero(passes & whole[owner])
        yield chosen[whole], chosen[owner[taken]], pa.table(cells).take(pa.array(taken))


def _alike(sources: Sequence[GroupRows], records: Longs) -> Flags:
    """Return where all sources know the groups of a container, which have all of its rows."""
    sizes = sources[0].sizes
    flags = (sizes >= 0) & (sums_of(sizes, _longs(sources[0].table, "rows")) == records)
    for each in sources[1:]:
        flags &= each.sizes == sizes
    return np.asarray(flags)


def _same_groups(tables: Sequence[pa.Table], columns: int) -> bool:
    names = ["rows", *by_cells(columns)]
    first = tables[0].select(names)
    return all(each.select(names).equals(first) for each in tables[1:])


def _plain(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _longs(table: pa.Table, name: str) -> Longs:
    numbers: Longs = _plain(table, name).to_numpy(zero_copy_only=False)
    return numbers

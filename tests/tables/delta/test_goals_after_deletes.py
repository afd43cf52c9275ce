"""LIMIT, ORDER BY with LIMIT and aggregates over files whose rows were deleted in part.

The log counts and bounds the rows that were written. Queries return those that are left.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.contributions import contributions
from tamis.plan.goals.file_keys import key_of_files, matching_files
from tamis.plan.goals.limit import enough_files
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk import boundary, first_files
from tamis.tables.delta import DeltaStatistics
from tests.tables.delta.logs import Log, add, schema_of, stats

C = Column(("c",), LONG)
#: A file: the value of each row, and whether the row was deleted.
File = Sequence[tuple[int | None, bool]]
values = st.none() | st.integers(0, 12)
files_of_rows = st.lists(
    st.lists(st.tuples(values, st.sampled_from([False, False, True])), min_size=1, max_size=6),
    min_size=1,
    max_size=5,
)


def opened(folder: Path, files: Sequence[File]) -> DeltaStatistics:
    """Return the statistics of files with deletion vectors for the rows that were deleted."""
    log = Log(folder, schema_of(c="long"))
    actions = []
    for number, file in enumerate(files):
        known = [value for value, _ in file if value is not None]
        deleted = sum(gone for _, gone in file)
        recorded = stats(
            len(file),
            {"c": min(known)} if known else {},
            {"c": max(known)} if known else {},
            {"c": len(file) - len(known)},
            **({"tightBounds": not deleted} if number % 2 else {}),  # vectors show it as well
        )
        vector = {"cardinality": deleted} if deleted else None
        actions.append(add(f"f{number}", recorded, vector))
    log.commit(*actions)
    return log.statistics(*(f"f{number}" for number in range(len(files))))


def left(file: File) -> list[int | None]:
    return [value for value, gone in file if not gone]


@given(files_of_rows, st.integers(1, 12))
def test_files_for_a_limit_have_enough_rows(files: Sequence[File], rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = opened(Path(folder), files).num_records
    assert records.tolist() == [len(left(file)) for file in files]
    sizes = np.array([len(file) for file in files])
    chosen = enough_files(rows, [np.arange(len(files))], records, sizes)
    if chosen is None:
        assert sum(records) < rows
    else:
        assert sum(records[chosen]) >= rows


@given(files_of_rows, st.integers(1, 8), st.booleans(), st.booleans(), st.booleans())
def test_files_for_an_order_have_the_first_rows(
    files: Sequence[File], rows: int, descending: bool, nulls_first: bool, only: bool
) -> None:
    kept = np.ones(len(files), np.bool_)
    key = SortKey(C, descending, nulls_first, only)
    with tempfile.TemporaryDirectory() as folder:
        statistics = opened(Path(folder), files)
        segments = [Segment(slice(0, len(files)), statistics)]
        keys = key_of_files(key, [], segments, kept)
        if keys is None:
            return
        matching = matching_files(key, keys, [], segments, kept)
        last = boundary(rows, key, keys, matching, statistics.num_records)
        if last is None:
            return
        chosen = first_files(key, keys, last, kept)

    def places(which: Sequence[File]) -> list[tuple[int, int]]:
        """Return the places of the rows that are left, in order."""
        found = []
        for value in (value for file in which for value in left(file)):
            if value is None:
                found.append((0 if nulls_first else 2, 0))
            else:
                found.append((1, -value if descending else value))
        return sorted(found)

    every = places(files)
    of_chosen = places([file for file, is_in in zip(files, chosen, strict=True) if is_in])
    assert of_chosen[:rows] == every[:rows]
    if not only:  # later keys decide between all rows at the last place
        upto = every[rows - 1]
        assert [each for each in of_chosen if each <= upto] == [e for e in every if e <= upto]


@given(files_of_rows)
def test_certain_contributions_are_those_of_the_rows_left(files: Sequence[File]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        statistics = opened(Path(folder), files)
        for function in (Function.COUNT, Function.MIN, Function.MAX):
            aggregates = [Aggregate(Function.COUNT, None), Aggregate(function, C)]
            sure, cells = contributions(aggregates, statistics, statistics.num_records)
            for number, file in enumerate(files):
                if not sure[number]:
                    continue
                found = [value for value in left(file) if value is not None]
                expected = {
                    Function.COUNT: len(found),
                    Function.MIN: min(found, default=None),
                    Function.MAX: max(found, default=None),
                }[function]
                assert cells["0"][number].as_py() == len(left(file))
                assert cells["1"][number].as_py() == expected, (function, file)
            for number, file in enumerate(files):
                is_whole = not any(gone for _, gone in file)
                assert sure[number] or not is_whole

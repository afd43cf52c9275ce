"""The files of a sample for ORDER BY with LIMIT: which are chosen, and whether it pays off."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import LONG, STRING
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import key_of_files
from tamis.plan.goals.sort_keys import KeyOfFiles, SortKey
from tamis.plan.goals.topk_sample import reading_costs, samples

A, B = Column(("a",), LONG), Column(("b",), STRING)
COUNT = 100


def clustered(step: int = 10, width: int = 9) -> dict[str, list[int | str]]:
    return {
        "min.a": [k * step for k in range(COUNT)],
        "max.a": [k * step + width for k in range(COUNT)],
        "null_count.a": [0] * COUNT,
    }


def keys(
    cells: dict[str, list[int | str]], *columns: Column, descending: bool = False
) -> list[tuple[SortKey, KeyOfFiles]]:
    statistics = ArrowStatistics(pa.table(cells | {"num_records": [1000] * COUNT}))
    segments = [Segment(slice(0, COUNT), statistics)]
    found = []
    for column in columns:
        key = SortKey(column, descending, descending, False)
        of_files = key_of_files(key, [], segments, np.ones(COUNT, np.bool_))
        assert of_files is not None
        found.append((key, of_files))
    return found


def sampled(
    of_files: list[tuple[SortKey, KeyOfFiles]],
    rows: int = 10,
    share: float = 0.1,
    least: float = 1e6,
    columns: int = 2,
    num_records: int = 1000,
) -> list[list[int]]:
    records = np.full(COUNT, num_records)
    reading = reading_costs(records, records * 64, 10.0, ["string"] * columns, ["string"])
    kept = np.ones(COUNT, np.bool_)
    chosen = samples(rows, of_files, share * np.maximum(records, 0), reading, least, kept)
    return [np.flatnonzero(each).tolist() for each in chosen]


def test_first_files_in_the_order_are_sampled() -> None:
    assert sampled(keys(clustered(), A)) == [[0], [0, 1, 2, 3, 4]]
    assert sampled(keys(clustered(), A, descending=True))[0] == [99]


def test_rarer_rows_need_more_files() -> None:
    assert sampled(keys(clustered(), A), share=0.02)[0] == [0, 1]
    assert sampled(keys(clustered(), A), rows=25)[0] == [0]
    assert sampled(keys(clustered(), A), rows=26)[0] == [0, 1]


@pytest.mark.parametrize(
    "why",
    [
        {"share": 0.001},  # a sample would be a large part of the table
        {"rows": 100_000},  # all files hold fewer rows
        {"least": 1e12},
        {"num_records": 0},
        {"num_records": -1},
    ],
    ids=str,
)
def test_no_sample_that_does_not_pay_off(why: dict[str, float]) -> None:
    assert sampled(keys(clustered(), A), **why) == []  # type: ignore[arg-type]


def test_no_sample_where_ranges_overlap() -> None:
    assert sampled(keys(clustered(step=1, width=500), A)) == []


def test_least_of_zero_samples_whatever_it_costs() -> None:
    assert (
        sampled(keys(clustered(), A), share=0.001, least=0)
        == [
            list(range(40)),
            list(range(100)),
        ][: len(sampled(keys(clustered(), A), share=0.001, least=0))]
    )
    assert sampled(keys(clustered(step=0), A), least=0) == []


def test_second_key_decides_between_ties() -> None:
    cells = clustered(step=0, width=0)
    assert sampled(keys(cells, A)) == []
    cells["min.b"] = [f"{k:03}a" for k in reversed(range(COUNT))]
    cells["max.b"] = [f"{k:03}b" for k in reversed(range(COUNT))]
    cells["null_count.b"] = [0] * COUNT
    assert sampled(keys(cells, A, B))[0] == [99]


def test_wide_rows_make_room_for_a_larger_sample() -> None:
    narrow, wide = sampled(keys(clustered(), A)), sampled(keys(clustered(), A), columns=500)
    assert len(wide[1]) > len(narrow[1])


def test_unknown_far_edges_are_not_sampled() -> None:
    cells = {
        "min.b": [f"{k:03}a" for k in range(COUNT)],
        "max.b": [None if k < 3 else f"{k:03}b" for k in range(COUNT)],
        "null_count.b": [0] * COUNT,
    }
    assert sampled(keys(cells, B))[0] == [3]  # type: ignore[arg-type]

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
from tamis.plan.goals.topk_sample import (
    guessed_at_near,
    reading_costs,
    sample_of_extremes,
    samples,
)

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


# --- MIN and MAX --------------------------------------------------------------------------------


def sampled_for_extremes(
    of_files: list[tuple[SortKey, KeyOfFiles]], share: float = 0.1, least: float = 1e6
) -> list[int] | None:
    records = np.full(COUNT, 1000)
    reading = reading_costs(records, records * 64, 10.0, ["string"], ["string"])
    chosen = sample_of_extremes(of_files, share * records, reading, least, np.ones(COUNT, np.bool_))
    return None if chosen is None else np.flatnonzero(chosen).tolist()


def test_a_sample_holds_the_first_files_of_each_function() -> None:
    both = keys(clustered(), A) + keys(clustered(), A, descending=True)
    assert sampled_for_extremes(both) == [0, 99]
    assert sampled_for_extremes(both, share=0.003) == [0, 1, 98, 99]


def test_files_with_values_like_those_of_the_sample_are_not_read() -> None:
    # the first half of the files has the value 0 and the second half has 1
    halves = {
        "min.a": [int(k >= 50) for k in range(COUNT)],
        "max.a": [int(k >= 50) for k in range(COUNT)],
        "null_count.a": [0] * COUNT,
    }
    both = keys(halves, A) + keys(halves, A, descending=True)
    assert sampled_for_extremes(both) == [0, 50]
    assert sampled(keys(halves, A), rows=1) == []  # ORDER BY reads the ties


def test_of_overlapping_files_the_near_edge_is_expected_if_all_rows_pass() -> None:
    (key, of_files), *_ = keys(clustered(step=0), A)
    assert sampled_for_extremes([(key, of_files)]) is None
    assert sampled_for_extremes([(key, guessed_at_near(of_files, np.ones(COUNT, np.bool_)))]) == [0]
    some = np.arange(COUNT) == 7
    assert sampled_for_extremes([(key, guessed_at_near(of_files, some))]) == [7]
    text = {"min.b": ["a"] * COUNT, "max.b": ["z"] * COUNT, "null_count.b": [0] * COUNT}
    (key, of_files), *_ = keys(text, B)  # type: ignore[arg-type]
    assert sampled_for_extremes([(key, guessed_at_near(of_files, some))]) == [7]


@pytest.mark.parametrize("why", [{"share": 0.0001}, {"share": 0.0}, {"least": 1e12}], ids=str)
def test_no_sample_of_extremes_that_does_not_pay_off(why: dict[str, float]) -> None:
    assert sampled_for_extremes(keys(clustered(), A), **why) is None

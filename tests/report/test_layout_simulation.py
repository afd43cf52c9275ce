"""A sample sorted and cut into files, and pruning by the statistics of these files."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.files.verdicts import evaluate
from tamis.report.layout_simulation import Sample, cut, file_table
from tests.cases.case import compare

KEY = Column(("k",), LONG)


def laid_out(
    keys: list[int | None], files: int, parts: list[int] | None = None
) -> tuple[pa.Table, pa.Table]:
    """Return the sorted rows, each with its piece, and the pieces."""
    table = pa.table({"k": pa.array(keys, pa.int64())})
    if parts is not None:
        table = table.append_column("p", pa.array(parts, pa.int64()))
    sample = Sample.sorted(table, ["k"], ["p"] if parts is not None else [], ("k",))
    starts = cut(sample, files)
    lengths = np.diff([*starts, len(table)])
    piece = np.repeat(np.arange(len(starts)), lengths)
    return sample.table.append_column("piece", pa.array(piece)), file_table(sample, starts)


@given(
    st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=600),
    st.integers(1, 12),
    st.integers(-60, 60),
    st.booleans(),
)
def test_piece_with_a_matching_row_is_kept(
    keys: list[int | None], files: int, value: int, parted: bool
) -> None:
    parts = [Random(i).randrange(3) for i in range(len(keys))] if parted else None
    rows, pieces = laid_out(keys, files, parts)
    for operator, matches in (("=", pc.equal), ("<", pc.less), (">=", pc.greater_equal)):
        verdicts = evaluate(compare(operator, KEY, value), pieces).to_pylist()
        matching = rows.filter(pc.fill_null(matches(rows.column("k"), value), False))
        assert {verdicts[i] for i in matching.column("piece").to_pylist()} <= {"some", "all"}


def test_values_between_two_pieces_belong_to_the_first() -> None:
    _, pieces = laid_out(list(range(0, 4000, 10)), 4)
    assert evaluate(compare("=", KEY, 995), pieces).to_pylist() == ["some", "none", "none", "none"]


def test_files_do_not_cross_partitions() -> None:
    rows, pieces = laid_out(list(range(1000)), 8, [i % 2 for i in range(1000)])
    assert pieces.column("num_records").to_pylist() == [125] * 8
    assert pieces.column("min.p").to_pylist() == pieces.column("max.p").to_pylist()
    assert (
        pieces.column("max.k").to_pylist()[3] == 998
    )  # It excludes the first values of the next partition.
    assert rows.column("piece").to_pylist() == sorted(rows.column("piece").to_pylist())


@pytest.mark.parametrize(
    ("rows", "files", "pieces"), [(0, 5, 0), (1, 5, 1), (99, 5, 1), (500, 5, 5), (500, 1, 1)]
)
def test_few_rows_make_fewer_pieces(rows: int, files: int, pieces: int) -> None:
    assert len(laid_out(list(range(rows)), files)[1]) == pieces


def test_every_column_type_has_statistics() -> None:
    table = pa.table(
        {
            "k": [3, 1, 2],
            "s": ["b", None, "a"],
            "f": [float("nan"), 1.5, None],
            "d": pa.array([3, 2, 1], pa.date32()),
            "t": pa.array([3, 2, 1], pa.timestamp("us", "UTC")),
            "n": pa.nulls(3, pa.decimal128(10, 2)),
            "b": [b"x", b"y", None],
            "o": [True, None, False],
        }
    )
    (row,) = file_table(Sample.sorted(table, ["k"], [], ("k",)), [0]).to_pylist()
    assert (row["num_records"], row["min.k"], row["max.k"]) == (3, 1, 3)
    assert (row["min.s"], row["max.s"], row["null_count.s"]) == ("a", "b", 1)
    assert (row["min.f"], row["max.f"], row["null_count.f"]) == (1.5, 1.5, 1)
    assert "nan_count.f" not in row
    assert (row["min.n"], row["null_count.n"]) == (None, 3)
    assert (row["min.b"], row["max.b"], row["min.o"], row["max.o"]) == (b"x", b"y", False, True)

"""Requests of the shim about what scans have learnt, and the plans that follow."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.remembered import Store, partial
from tamis.remembered.notes import Note, read_note
from tamis.serve import remembered
from tamis.serve.process.handler import Handler
from tamis.wire.messages import VERSION
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot

GROUP, GROUPS = 10, 4
#: A conjunct that tamis does not understand.
OPAQUE = {"n": "opaque", "s": "f(a)", "c": [["a"]]}

Rows = Sequence[tuple[int, int, int]]


class Table:
    """Files of four row groups, with an index, and the store of a test."""

    def __init__(self, folder: Path, files: int = 2) -> None:
        self.root = folder / "t"
        self.root.mkdir()
        for number in range(files):
            self.write(number)
        self.index = LocalIndex(self.root, spark_schema(a="long"), folder / "scratch")
        self.index.build()
        self.started = int(time.time() * 1000) + 5_000  # what was written before is settled
        self.requests = 0

    def write(self, number: int, first: int = 0) -> None:
        values = pa.table({"a": range(first, first + GROUP * GROUPS)})
        pq.write_table(values, self.root / f"{number}.parquet", row_group_size=GROUP)

    def ask(self, method: str, **more: Any) -> dict[str, Any]:
        folder = self.root.parent
        fingerprint, files = write_snapshot(self.root, folder / "snapshot")
        self.requests += 1
        request = {
            "version": VERSION,
            "id": f"q{self.requests}",
            "snapshot": {
                "fingerprint": fingerprint,
                "directory": str(folder / "snapshot"),
                "files": files,
            },
            "cache_directory": str(folder / "cache"),
            **more,
        }
        answer = getattr(Handler(), method)(msgspec.json.encode(request).decode())
        return dict(json.loads(answer))

    def learn(
        self,
        rows: Rows | dict[str, str],
        files: Sequence[int] = (),
        keys: Sequence[str] = ("k",),
        **more: Any,
    ) -> dict[str, Any]:
        return self.ask(
            "learn",
            **{
                "table": "t",
                "reading": "r",
                "keys": list(keys),
                "sql": list(keys),
                "files": {"form": "ranges", "data": [[i, i + 1] for i in files]},
                "rows": rows if isinstance(rows, dict) else packed(rows),
                "started": self.started,
                "max_bytes": 1 << 20,
                **more,
            },
        )

    def groups(self, keys: Sequence[str] = ("k",), **more: Any) -> list[list[int]]:
        """Return the row groups of each file that a plan reads."""
        answer = self.ask(
            "plan",
            **{
                "table": {"roots": [uri_of(self.root)]},
                "conjuncts": [OPAQUE] * len(keys),
                "row_groups": True,
                "remembered": {"reading": "r", "keys": list(keys)},
                **more,
            },
        )
        assert "error" not in answer, answer
        return read_groups(answer, self.root)


def packed(rows: Rows) -> dict[str, str]:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    kinds = {"files": "<i4", "starts": "<i8", "stops": "<i8"}
    return {
        name: base64.b64encode(column.astype(kind).tobytes()).decode()
        for (name, kind), column in zip(kinds.items(), columns, strict=True)
    }


def read_groups(answer: dict[str, Any], root: Path) -> list[list[int]]:
    """Return the row groups of each file whose midpoints are in the ranges of an answer."""
    count = len([*root.glob("*.parquet")])
    kept = {"all": [*range(count)], "none": []}.get(answer["kept"]["form"])
    if kept is None:
        kept = [i for a, b in answer["kept"]["data"] for i in range(a, b)]
    found = [[*range(GROUPS)] if i in kept else [] for i in range(count)]
    ranges = answer["row_groups"]
    if ranges is None:
        return found
    files, starts, lengths = (
        np.frombuffer(base64.b64decode(ranges[name]), kind)
        for name, kind in (("files", "<i4"), ("starts", "<i8"), ("lengths", "<i8"))
    )
    for i in set(files.tolist()):
        footer = pq.read_metadata(root / f"{i}.parquet")
        here = files == i
        found[i] = [
            g
            for g in range(GROUPS)
            if any(
                a <= middle(footer.row_group(g)) < a + n
                for a, n in zip(starts[here], lengths[here], strict=True)
            )
        ]
    return found


def middle(group: pq.RowGroupMetaData) -> int:
    chunk = group.column(0)
    first = chunk.data_page_offset
    if chunk.has_dictionary_page:
        first = min(first, chunk.dictionary_page_offset)
    return int(first + chunk.total_compressed_size // 2)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


EVERY = [*range(GROUPS)]


def test_learnt_rows_leave_out_row_groups(table: Table) -> None:
    assert table.groups() == [EVERY, EVERY]
    table.learn([(0, 0, 20), (0, 25, 40), (1, 10, 20)])
    assert table.groups() == [[2], [0, 2, 3]]
    assert table.groups(["other", "k"]) == [[2], [0, 2, 3]]
    assert table.groups(["other"]) == [EVERY, EVERY]
    assert table.groups(row_groups=False) == [EVERY, EVERY]
    # together with the rest of the file, and with another set of conjuncts
    table.learn([(0, 20, 25)], files=[1])
    assert table.groups() == [[], []]
    assert table.groups(["other", "k"], remembered=None) == [EVERY, EVERY]


def passing(files: Sequence[int], rows: Rows = (), keys: Sequence[str] = ("k",)) -> dict[str, Any]:
    """Return what a scan found about rows that pass."""
    return {
        "keys": list(keys),
        "sql": list(keys),
        "files": {"form": "ranges", "data": [[i, i + 1] for i in files]},
        "rows": packed(rows),
    }


def pushdowns(table: Table, keys: Sequence[str] = ("k",), **more: Any) -> list[str]:
    answer = table.ask(
        "plan",
        **{
            "table": {"roots": [uri_of(table.root)]},
            "conjuncts": [OPAQUE] * len(keys),
            "row_groups": True,
            "remembered": {"reading": "r", "keys": list(keys)},
            **more,
        },
    )
    assert "error" not in answer, answer
    assert [each["remembered"] for each in answer["conjuncts"]] == [
        each["pushdown"] == "exact" for each in answer["conjuncts"]
    ]
    return [each["pushdown"] for each in answer["conjuncts"]]


def test_conjuncts_of_a_filter_that_all_rows_pass_are_exact(table: Table) -> None:
    # no row of the second file passes both
    table.learn([], files=[1], keys=["k", "l"], passing=passing([0], keys=["l", "k"]))
    assert pushdowns(table, ["k", "l"]) == ["exact", "exact"]
    # the second file is read
    assert pushdowns(table, ["k"]) == ["unsupported"]
    table.learn([], passing=passing([1]))
    assert pushdowns(table, ["k"]) == ["exact"]
    assert pushdowns(table, ["m", "k"]) == ["unsupported", "exact"]
    assert pushdowns(table, ["l", "m"]) == ["unsupported", "unsupported"]
    # without an index, too
    assert pushdowns(table, ["k"], index={"enabled": False}) == ["exact"]
    for more in ({"remembered": None}, {"remembered": {"reading": "other", "keys": ["k"]}}):
        assert pushdowns(table, ["k"], **more) == ["unsupported"]
    (path,) = (table.root.parent / "cache" / "remembered-4").glob(f"{_subject(table, ['k'])}*.note")
    note = read_note(path.read_bytes())
    assert note is not None
    # that the first file passes was known from both conjuncts, and is stored once
    assert (len(note.passing_files), note.files) == (16, b"")


def test_files_in_which_a_conjunct_is_true_may_be_known_from_many_notes(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.learn([], keys=["k", "l"], passing=passing([0], keys=["k", "l"]))
    table.learn([], keys=["k", "m"], passing=passing([1], keys=["k", "m"]))
    assert pushdowns(table, ["k"]) == ["exact"]
    for number in range(20):
        keys = ["k", f"n{number}"]
        table.learn([], keys=keys, passing=passing([0, 1], keys=keys))
    asked = []
    all_pass = Store.all_pass
    monkeypatch.setattr(
        Store, "all_pass", lambda self, *args: asked.append(args) or all_pass(self, *args)
    )
    assert pushdowns(table, ["k"]) == ["exact"]
    assert len(asked) <= 3  # the other notes can add nothing


def _subject(table: Table, keys: Sequence[str]) -> str:
    return Note("r", tuple(keys), (), "t", 0, b"").subject


def test_row_groups_whose_rows_pass_make_a_conjunct_exact(table: Table) -> None:
    found = passing([], [(0, 0, 10), (0, 30, 40), (1, 0, 40)])
    table.learn([(0, 10, 30)], passing=found)
    assert table.groups() == [[0, 3], EVERY]
    assert pushdowns(table) == ["exact"]
    # the second file is known as a whole
    assert pushdowns(table, among={"form": "ranges", "data": [[1, 2]]}) == ["exact"]
    assert pushdowns(table, row_groups=False) == ["unsupported"]
    limit = {"kind": "limit", "rows": 25}
    answer = table.ask(
        "plan",
        table={"roots": [uri_of(table.root)]},
        conjuncts=[OPAQUE],
        remembered={"reading": "r", "keys": ["k"]},
        goal=limit,
    )
    assert answer["goal"]["files"] == {"form": "ranges", "data": [[1, 2]]}


def test_conjuncts_that_only_the_scan_has_are_not_known_to_be_true(table: Table) -> None:
    table.learn([], keys=["k", "l"], passing=passing([0, 1], keys=["k"]))
    assert pushdowns(table, ["k", "l"]) == ["exact", "unsupported"]


def test_rows_that_pass_in_files_that_may_have_changed_are_not_known(table: Table) -> None:
    table.learn([], passing=passing([0, 1], [(1, 0, 40)]), started=1_000)
    assert pushdowns(table) == ["unsupported"]
    table.learn([], passing=passing([0, 1]))
    assert pushdowns(table) == ["exact"]
    time.sleep(0.01)
    table.write(0, first=1_000)
    table.index.refresh()
    assert pushdowns(table) == ["unsupported"]


def test_each_note_counts_what_it_left_out_of_a_scan(table: Table) -> None:
    table.learn([(0, 0, 20)], files=[1])
    table.learn([(0, 10, 30)], keys=["k", "l"])
    assert table.groups(["k", "l"]) == [[3], []]
    answer = table.ask("remembered", directory=str(table.root.parent))
    file = table.root.parent / f"{answer['id']}.remembered.arrow"
    notes = {
        len(each["predicates"]): each for each in pa.ipc.open_file(file).read_all().to_pylist()
    }
    assert (notes[1]["files"], notes[1]["partial_files"], notes[2]["partial_files"]) == (1, 1, 1)
    assert [notes[n]["scans"] for n in (1, 2)] == [1, 1]
    assert notes[1]["skipped_files"] == 1
    assert sum(notes[n]["skipped_row_groups"] for n in (1, 2)) == 3
    assert all(each["skipped_bytes"] > 0 for each in notes.values())


def test_what_is_known_for_fewer_conjuncts_is_not_stored_again(table: Table) -> None:
    table.learn([(0, 0, 20)], files=[1])
    table.learn([(0, 0, 20)], files=[1], keys=["k", "l"])
    (path,) = (table.root.parent / "cache" / "remembered-4").glob("*.note")
    table.learn([(0, 0, 30)], files=[1], keys=["k", "l"])
    (more,) = [
        each
        for each in (table.root.parent / "cache" / "remembered-4").glob("*.note")
        if each != path
    ]
    note = read_note(more.read_bytes())
    assert note is not None
    assert note.num_files == 0
    assert [
        np.frombuffer(each, "<i8").tolist() for each in (note.partial.starts, note.partial.stops)
    ] == [
        [20],
        [30],
    ]
    # the fewer conjuncts are learnt later
    table.learn([(0, 20, 30)])
    assert table.groups() == [[3], []]


def test_rows_of_a_file_that_changed_are_not_used(table: Table) -> None:
    table.learn([(0, 0, 20)])
    time.sleep(0.01)
    table.write(0, first=1_000)
    table.index.refresh()
    assert table.groups() == [EVERY, EVERY]


def test_rows_of_a_file_that_may_have_been_replaced_are_not_learnt(table: Table) -> None:
    table.learn([(0, 0, 20), (1, 0, 20)], started=1_000)
    assert table.groups() == [EVERY, EVERY]


@pytest.mark.parametrize(
    "rows",
    [
        {"files": "AA=="},
        {"files": packed([(0, 1, 2)])["files"]},
        packed([(2, 0, 10)]),
        packed([(-1, 0, 10)]),
        {"files": "?"},
        packed([(0, 0, 10)]) | {"stops": ""},
    ],
)
def test_rows_that_do_not_fit_the_listing_are_a_failure(table: Table, rows: dict[str, str]) -> None:
    assert "error" in table.learn(rows)
    assert table.groups() == [EVERY, EVERY]


def test_without_an_index_files_are_read_whole(table: Table) -> None:
    table.learn([(0, 0, 20)])
    assert table.groups(index={"enabled": False}) == [EVERY, EVERY]


A = {"n": "col", "p": ["a"], "t": "long"}


def values(
    cells: dict[int, tuple[int, int]], columns: Sequence[dict[str, Any]] = (A,), **more: str
) -> dict[str, Any]:
    """Return the values of a column in the rows that pass, by file."""
    least, greatest = zip(*cells.values(), strict=True)
    return {
        "columns": list(columns),
        "files": base64.b64encode(np.array([*cells], "<i4").tobytes()).decode(),
        "least": base64.b64encode(np.array(least, "<i8").tobytes()).decode(),
        "greatest": base64.b64encode(np.array(greatest, "<i8").tobytes()).decode(),
        **more,
    }


def above(
    table: Table,
    limit: int,
    keys: Sequence[str | None] = ("k", None),
    others: Sequence[dict[str, Any]] = (OPAQUE,),
) -> list[int]:
    """Return the files that a plan with `a > limit`, and other conjuncts before, reads."""
    constant = {"n": "lit", "t": "long", "v": limit}
    compared = {"n": "call", "f": "GreaterThan", "t": "boolean", "a": [A, constant]}
    found = table.groups(
        keys, conjuncts=[*others, compared], remembered={"reading": "r", "keys": list(keys)}
    )
    return [number for number, groups in enumerate(found) if groups]


def test_values_of_rows_that_pass_leave_out_files(table: Table) -> None:
    assert above(table, 20) == [0, 1]
    answer = table.learn([], values=values({0: (5, 9), 1: (7, 30)}))
    assert answer["changed"]
    assert [above(table, limit) for limit in (6, 20, 30)] == [[0, 1], [1], []]
    assert above(table, 30, ["other", None]) == [0, 1]
    # the same again, and less
    for cells in ({0: (5, 9), 1: (7, 30)}, {1: (7, 30)}):
        assert not table.learn([], values=values(cells))["changed"]
    # a file without a row that passes has no values
    assert table.learn([], files=[1])["changed"]
    assert above(table, 6) == [0]


def test_values_that_contradict_statistics_are_not_used(table: Table) -> None:
    # only NULL, and a value that is greater than each of the file
    table.learn([], values=values({0: (2**63 - 1, -(2**63)), 1: (100, 100)}))
    assert above(table, 20) == [0, 1]


@pytest.mark.parametrize(
    "columns",
    [
        [{"n": "opaque", "s": "a", "c": [["a"]]}],
        [{"n": "col", "p": ["b"], "t": "long"}],
        [{"n": "col", "p": ["a"], "t": "integer"}],
        [{"n": "col", "p": ["a"], "t": "double"}],
        [{"n": "?"}],
    ],
)
def test_values_of_other_columns_are_not_used(table: Table, columns: list[dict[str, Any]]) -> None:
    table.learn([], values=values({0: (5, 9), 1: (7, 30)}, columns))
    assert above(table, 30) == [0, 1]


def test_values_of_files_that_may_have_been_replaced_are_not_learnt(table: Table) -> None:
    assert not table.learn([], values=values({0: (5, 9)}), started=1_000)["changed"]
    table.learn([], values=values({0: (5, 9)}))
    assert above(table, 20) == [1]
    time.sleep(0.01)
    table.write(0)
    table.index.refresh()
    assert above(table, 20) == [0, 1]


@pytest.mark.parametrize("wrong", [{"least": ""}, {"files": "AA=="}, {"greatest": "?"}])
def test_values_that_do_not_fit_are_a_failure(table: Table, wrong: dict[str, str]) -> None:
    assert "error" in table.learn([], values=values({0: (5, 9)}, **wrong))
    assert "error" in table.learn([], values=values({2: (5, 9)}))
    assert above(table, 20) == [0, 1]


@pytest.mark.parametrize(
    ("cells", "is_stored", "kept"),
    [
        ({0: (0, 9), 1: (10, 19), 2: (20, 29), 3: (30, 39)}, True, [3]),
        # a typical file spans half of the range of all, one more, or all of it
        ({0: (0, 20), 1: (20, 40), 2: (10, 30), 3: (5, 25)}, True, [1]),
        ({0: (0, 21), 1: (19, 40), 2: (9, 30), 3: (4, 25)}, False, [0, 1, 2, 3]),
        ({0: (0, 39), 1: (1, 39), 2: (0, 38), 3: (0, 30)}, False, [0, 1, 2, 3]),
        # with fewer files than four, or with fewer that have a value, it is not known
        ({0: (0, 39), 1: (1, 39), 2: (0, 30)}, True, [0, 1, 3]),
        ({0: (0, 39), 1: (1, 39), 2: (0, 30), 3: (1, 0)}, True, [0, 1, 3]),
    ],
)
def test_values_are_stored_only_if_they_are_clustered(
    tmp_path: Path, cells: dict[int, tuple[int, int]], is_stored: bool, kept: list[int]
) -> None:
    table = Table(tmp_path, files=4)
    assert table.learn([], values=values(cells))["changed"] == is_stored
    assert above(table, 30) == kept


def test_scan_uses_a_few_notes_with_values(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are not needed for a right result."""
    table.learn([], keys=["k"], values=values({0: (5, 9)}))
    table.learn([], keys=["l"], values=values({1: (7, 9)}))
    keys = ["k", "l", None]
    conjuncts = [OPAQUE, OPAQUE]
    assert above(table, 20, keys, conjuncts) == []
    monkeypatch.setattr(remembered, "_MOST_BOUNDS", 1)
    assert len(above(table, 20, keys, conjuncts)) == 1
    assert above(table, 6, keys, conjuncts) == [0, 1]


def test_tables_of_very_many_files_learn_and_use_nothing(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(remembered, "_MOST_FILES", 1)
        assert not table.learn([(0, 0, 20)], files=[1])["changed"]
    assert table.learn([(0, 0, 20)], files=[1])["changed"]
    assert table.groups() == [[2, 3], []]
    monkeypatch.setattr(remembered, "_MOST_FILES", 1)
    assert table.groups() == [EVERY, EVERY]


def test_note_holds_row_groups_of_a_limited_number_of_files(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "MOST_FILES", 1)
    table.learn([(0, 0, 20), (1, 20, 40)])
    # of one of the files, nothing is stored, and the rows of the other are its own
    assert table.groups() in ([[2, 3], EVERY], [EVERY, [0, 1]])
    table.learn([(0, 20, 30), (1, 10, 40)])
    assert table.groups() in ([[3], EVERY], [EVERY, [0]])

"""Notes: what they rule out, and what becomes of them on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.files.row_ranges import RowRanges
from tamis.indexing.read.freshness import UNCHANGING
from tamis.indexing.read.snapshot import FileKeys
from tamis.remembered import Note, Store, identities_of, settled, store_in
from tamis.remembered.notes import MAGIC, read_note, write_note
from tamis.remembered.partial import PartialFiles
from tamis.remembered.values import PassingValues

TIME = 1_700_000_000_123
MANY = 1 << 30


def files(*keys: tuple[str, int, int]) -> FileKeys:
    """Return files of one directory: name, size and modification time."""
    names, sizes, times = zip(*keys, strict=True) if keys else ((), (), ())

    def column(values: object, kind: pa.DataType) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(values, kind)])

    return FileKeys(
        ("file:/t",),
        column([0] * len(keys), pa.int32()),
        column(names, pa.string()),
        column(sizes, pa.int64()),
        column(times, pa.int64()),
    )


def name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def note(keys: str = "k", numbers: range = range(3), reading: str = "r", table: str = "t") -> Note:
    return Note(reading, tuple(sorted(keys)), ("a LIKE '%x%'",), table, TIME, _joined(numbers))


def _joined(numbers: range) -> bytes:
    return b"".join(map(name, numbers))


def partial(*ranges: tuple[int, int, int]) -> PartialFiles:
    """Return rows of files that are given by number."""
    files, starts, stops = (np.array(each, np.int64) for each in zip(*ranges, strict=True))
    names = pa.array([name(n) for n in range(int(files.max()) + 1)], pa.binary(16))
    return PartialFiles.of(names, RowRanges.of(files, starts, stops))


def with_rows(of: Note, *ranges: tuple[int, int, int]) -> Note:
    return msgspec.structs.replace(of, partial=partial(*ranges))


def rows_ruled_out(store: Store, numbers: list[int]) -> list[tuple[int, int, int]]:
    """Return the rows that notes rule out, with the numbers of their files."""
    names = pa.array([name(n) for n in numbers], pa.binary(16))
    found = []
    for kept in store.about("r", ["k"]):
        ranges = store.rows_without_hit(kept, names)
        if ranges is not None:
            files, starts, stops = (each.tolist() for each in ranges.arrays())
            found += [*zip([numbers[i] for i in files], starts, stops, strict=True)]
    return sorted(found)


def ruled_out(store: Store, reading: str, keys: str, numbers: range) -> list[int]:
    """Return the files that notes rule out for a scan with these conjuncts."""
    names = pa.array([name(n) for n in numbers], pa.binary(16))
    flags = np.zeros(len(names), np.bool_)
    for kept in store.about(reading, list(keys)):
        flags |= store.without_hit(kept, names)
    return [n for n, flag in zip(numbers, flags, strict=True) if flag]


@pytest.mark.parametrize(
    ("reading", "keys", "expected"),
    [
        ("r", "ab", [0, 1, 2]),
        ("r", "abc", [0, 1, 2]),
        ("r", "a", []),
        ("r", "b", []),
        ("r", "", []),
        ("other", "ab", []),
    ],
)
def test_note_is_about_scans_with_all_its_conjuncts(
    tmp_path: Path, reading: str, keys: str, expected: list[int]
) -> None:
    store = Store(tmp_path)
    store.add(note("ab"), MANY)
    assert ruled_out(store, reading, keys, range(5)) == expected


@given(
    st.lists(st.tuples(st.sampled_from(["a", "ab", "bc", "abc"]), st.sets(st.integers(0, 9)))),
    st.sets(st.sampled_from("abc")),
)
def test_ruled_out_is_the_union_of_the_notes_whose_conjuncts_are_asked(
    tmp_path_factory: pytest.TempPathFactory,
    notes: list[tuple[str, set[int]]],
    asked: set[str],
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    store = Store(folder)
    expected: set[int] = set()
    for keys, numbers in notes:
        if numbers:
            store.add(note(keys, sorted(numbers)), MANY)  # type: ignore[arg-type]
            if set(keys) <= asked:
                expected |= numbers
    for each in (store, Store(folder)):  # in memory, and read from disk
        assert set(ruled_out(each, "r", "".join(asked), range(10))) == expected


def test_two_drivers_share_a_directory(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    first.add(note(numbers=range(3)), MANY)
    second.add(note(numbers=range(3, 5)), MANY)
    assert ruled_out(second, "r", "k", range(9)) == [0, 1, 2, 3, 4]
    assert ruled_out(Store(tmp_path), "r", "k", range(9)) == [0, 1, 2, 3, 4]


def test_drivers_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    stores = [Store(tmp_path) for _ in range(4)]

    def write(number: int) -> None:
        for i in range(10):
            stores[number].add(note(numbers=range(10 * number + i, 10 * number + i + 1)), MANY)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    # a store removes a note only after it has written one with all of its files
    assert ruled_out(Store(tmp_path), "r", "k", range(50)) == [*range(40)]


WRITES = """
import sys
from pathlib import Path
from tests.remembered.test_store import MANY, Store, note
store, first = Store(Path(sys.argv[1])), int(sys.argv[2])
for i in range(first, first + int(sys.argv[3])):
    store.add(note(numbers=range(i, i + 1)), MANY)
    if i == first:
        print(flush=True)
"""


def test_driver_that_is_killed_while_it_writes_leaves_whole_notes(tmp_path: Path) -> None:
    def writer(first: int, count: int) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-c", WRITES, str(tmp_path), str(first), str(count)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE)

    endless, other = writer(1000, 10**6), writer(0, 20)
    try:
        for each in (endless, other):
            assert each.stdout is not None
            assert each.stdout.readline()
    finally:
        endless.kill()
    assert other.wait(60) == 0
    endless.wait(60)
    for path in tmp_path.glob("*.note"):
        assert read_note(path.read_bytes()) is not None
    found = ruled_out(Store(tmp_path), "r", "k", range(1001))
    assert found == [*range(20), 1000]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40] + b"\x00" + data[41:],
        lambda data: b"tamisRP2" + data[8:],
        lambda data: data + b"x",
    ],
)
def test_damaged_note_is_no_note(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    Store(tmp_path).add(note(), MANY)
    (path,) = tmp_path.glob("*.note")
    path.write_bytes(damage(path.read_bytes()))
    assert ruled_out(Store(tmp_path), "r", "k", range(3)) == []


def test_note_damaged_while_it_is_known_rules_out_nothing(tmp_path: Path) -> None:
    writer = Store(tmp_path)
    writer.add(note(), MANY)
    reader = Store(tmp_path)
    assert len(reader.about("r", ["k"])) == 1
    (path,) = tmp_path.glob("*.note")
    path.write_bytes(path.read_bytes()[:50])
    assert ruled_out(reader, "r", "k", range(3)) == []


def with_partial(**parts: bytes) -> Note:
    """Return a note about one range of one file, with other parts."""
    right = {"names": bytes(16), "files": bytes(4), "starts": bytes(8), "stops": b"\x01" + bytes(7)}
    note_ = Note("r", ("k",), (), "t", 0, b"", PartialFiles(**right | parts))
    assert read_note(write_note(Note("r", ("k",), (), "t", 0, b"", PartialFiles(**right))))
    return note_


def with_values(**parts: Any) -> Note:
    """Return a note about the values of one column in one file, with other parts."""
    right = {
        "names": bytes(16),
        "columns": ((("a",), "long"),),
        "least": bytes(8),
        "greatest": bytes(8),
    }
    assert read_note(write_note(Note("r", ("k",), (), "t", 0, b"", values=PassingValues(**right))))
    return Note("r", ("k",), (), "t", 0, b"", values=PassingValues(**right | parts))


@pytest.mark.parametrize(
    "wrong",
    [
        note("", range(3)),
        Note("r", ("k",), (), "t", 0, b""),
        Note("r", ("k",), (), "t", 0, b"12345"),
        Note("r", ("k",), (), "t", 0, bytes(16), passing_files=b"12345"),
        Note("r", ("k",), (), "t", 0, bytes(16), passing_partial=PartialFiles(bytes(15))),
        with_partial(names=b"12345"),
        with_partial(files=b"\x00\x00\x00"),
        with_partial(files=b"\x01\x00\x00\x00"),  # of one file
        with_partial(files=b"\xff\xff\xff\xff"),
        with_partial(starts=bytes(16)),
        with_partial(stops=b""),
        with_values(names=b"12345"),
        with_values(names=b""),
        with_values(names=b"", least=b"", greatest=b""),
        with_values(names=b"12345", least=b"", greatest=b""),
        with_values(names=bytes(32)),
        with_values(columns=()),
        with_values(columns=((("a",), "long"), (("b",), "long"))),
        with_values(columns=((("a",), "long"),) * 2, least=bytes(16), greatest=bytes(16)),
        with_values(least=bytes(7)),
        with_values(greatest=b""),
    ],
)
def test_note_that_says_nothing_or_too_much_is_not_read(wrong: Note) -> None:
    assert read_note(write_note(wrong)) is None
    assert write_note(wrong).startswith(MAGIC)


def test_rows_of_files_are_found_by_name_in_any_listing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(with_rows(note(numbers=range(2)), (3, 0, 10), (5, 20, 30), (5, 40, 50)), MANY)
    for each in (store, Store(tmp_path)):  # in memory, and read from disk
        assert rows_ruled_out(each, [3, 5]) == [(3, 0, 10), (5, 20, 30), (5, 40, 50)]
        assert rows_ruled_out(each, [9, 5, 0]) == [(5, 20, 30), (5, 40, 50)]
        assert rows_ruled_out(each, [1, 9]) == []
        (kept,) = each.all()
        assert (kept.num_files, kept.num_partial) == (2, 2)


def test_rows_of_two_notes_are_united_and_whole_files_have_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(with_rows(note(numbers=range(1)), (3, 0, 10), (4, 0, 10)), MANY)
    store.add(with_rows(note(numbers=range(1)), (3, 10, 20), (3, 30, 40)), MANY)
    assert rows_ruled_out(store, [3, 4]) == [(3, 0, 20), (3, 30, 40), (4, 0, 10)]
    (before,) = tmp_path.glob("*.note")
    store.add(with_rows(note(numbers=range(1)), (3, 12, 15)), MANY)  # known
    assert [*tmp_path.glob("*.note")] == [before]
    store.add(note(numbers=range(3, 4)), MANY)
    assert rows_ruled_out(Store(tmp_path), [3, 4]) == [(4, 0, 10)]
    assert ruled_out(Store(tmp_path), "r", "k", range(5)) == [0, 3]


def test_note_about_rows_alone_is_a_note(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(with_rows(Note("r", ("k",), (), "t", TIME, b""), (0, 5, 9)), MANY)
    assert rows_ruled_out(Store(tmp_path), [0]) == [(0, 5, 9)]
    assert ruled_out(Store(tmp_path), "r", "k", range(2)) == []
    (path,) = tmp_path.glob("*.note")
    path.write_bytes(path.read_bytes()[:-1])
    assert rows_ruled_out(Store(tmp_path), [0]) == []


def passing(keys: str, numbers: range, *ranges: tuple[int, int, int]) -> Note:
    """Return a note about rows that pass: files by their numbers, and rows of others."""
    rows = partial(*ranges) if ranges else PartialFiles()
    return Note(
        "r",
        tuple(sorted(keys)),
        (),
        "t",
        TIME,
        b"",
        passing_files=_joined(numbers),
        passing_partial=rows,
    )


def all_pass(store: Store, key: str, numbers: range, reading: str = "r") -> list[int]:
    """Return the files in which a conjunct is known to be true for every row."""
    names = pa.array([name(n) for n in numbers], pa.binary(16))
    flags = np.zeros(len(names), np.bool_)
    for kept in store.passing(reading, key):
        flags |= store.all_pass(kept, names)[0]
    return [n for n, flag in zip(numbers, flags, strict=True) if flag]


def test_all_rows_pass_each_conjunct_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(passing("ab", range(3)), MANY)
    for each in (store, Store(tmp_path)):  # in memory, and read from disk
        assert [all_pass(each, key, range(5)) for key in "abc"] == [[0, 1, 2], [0, 1, 2], []]
        assert all_pass(each, "a", range(5), reading="other") == []
        assert ruled_out(each, "r", "ab", range(5)) == []
    # no row of the files 3 and 4 passes both
    store.add(note("ab", range(3, 5)), MANY)
    assert len([*tmp_path.glob("*.note")]) == 1
    assert all_pass(Store(tmp_path), "a", range(9)) == [0, 1, 2]
    assert ruled_out(Store(tmp_path), "r", "ab", range(9)) == [3, 4]
    assert ruled_out(Store(tmp_path), "r", "a", range(9)) == []


def test_rows_that_pass_are_united_and_found_in_any_listing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(passing("k", range(1), (3, 0, 10)), MANY)
    store.add(passing("k", range(1), (3, 10, 20), (4, 5, 6)), MANY)
    (before,) = tmp_path.glob("*.note")
    store.add(passing("k", range(1), (3, 2, 12)), MANY)  # known
    assert [*tmp_path.glob("*.note")] == [before]
    names = pa.array([name(9), name(4), name(3), None], pa.binary(16))
    (kept,) = Store(tmp_path).passing("r", "k")
    whole, rows = Store(tmp_path).all_pass(kept, names)
    assert not whole.any()
    assert rows is not None
    assert [each.tolist() for each in rows.arrays()] == [[1, 2], [5, 0], [6, 20]]
    assert rows_ruled_out(store, [3, 4]) == []
    store.add(passing("k", range(3, 5)), MANY)  # as whole files
    assert all_pass(store, "k", range(9)) == [0, 3, 4]
    (kept,) = store.passing("r", "k")
    assert (kept.num_passing, kept.num_passing_partial, kept.num_files) == (3, 0, 0)


def test_note_that_was_removed_says_nothing_of_rows_that_pass(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(passing("ab", range(3)), MANY)
    (path,) = tmp_path.glob("*.note")
    reader = Store(tmp_path)
    assert all_pass(reader, "a", range(3)) == [0, 1, 2]
    path.unlink()
    assert [store.passing("r", key) for key in "ab"] == [[], []]
    assert all_pass(Store(tmp_path), "a", range(3)) == []
    assert not reader.passing("r", "a")
    damaged = Store(tmp_path)
    damaged.add(passing("ab", range(3)), MANY)
    (path,) = tmp_path.glob("*.note")
    path.write_bytes(path.read_bytes()[:50])
    assert all_pass(Store(tmp_path), "a", range(3)) == []


def test_unfinished_write_leaves_the_former_state(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(note(), MANY)
    (tmp_path / "0123-x.part").write_bytes(b"half")
    assert ruled_out(Store(tmp_path), "r", "k", range(3)) == [0, 1, 2]


def test_least_useful_notes_are_removed_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for keys in "abc":
        store.add(note(keys, range(100)), MANY)
    size = next(iter(tmp_path.glob("*.note"))).stat().st_size
    (useful,) = store.about("r", "b")
    store.saved(useful, "q", 1 << 30, files=90)
    store.add(note("d", range(100)), 2 * size + 100)
    assert [bool(ruled_out(store, "r", keys, range(3))) for keys in "abcd"] == [
        False,
        True,
        False,
        True,
    ]
    assert sum(path.stat().st_size for path in tmp_path.glob("*.note")) <= 2 * size + 100


def test_note_larger_than_the_limit_is_not_written(tmp_path: Path) -> None:
    Store(tmp_path).add(note(numbers=range(100)), 1000)
    assert not [*tmp_path.glob("*.note")]


def test_savings_outlive_the_driver(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(note(), MANY)
    store.saved(store.all()[0], "q1", 500, files=2)
    store.saved(store.all()[0], "q2", 100, files=1)
    store.saved(store.all()[0], "q2", 50, row_groups=4)
    store.flush()
    use = Store(tmp_path).all()[0].use
    assert (use.scans, use.files, use.row_groups, use.bytes) == (2, 3, 4, 650)
    store.add(note(numbers=range(5, 7)), MANY)
    assert Store(tmp_path).all()[0].use.files == 3


def test_only_notes_that_saved_something_write_what_they_saved(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(note(), MANY)
    store.add(note("l"), MANY)
    assert not (tmp_path / "used").exists()
    store.saved(store.about("r", "k")[0], "q", 500, files=2)
    # what is known of the subject moves to another note, with what it has saved
    store.add(note(numbers=range(5, 7)), MANY)
    (name,) = (path.name for path in (tmp_path / "used").iterdir())
    assert name == Store(tmp_path).about("r", "k")[0].name


def test_files_are_named_by_path_size_and_time() -> None:
    base = ("a.parquet", 10, TIME)
    others = [
        ("b.parquet", 10, TIME),
        ("a.parquet", 11, TIME),
        ("a.parquet", 10, TIME + 1),
        ("a.parquet", 10, UNCHANGING),
    ]
    names = identities_of(files(base, *others)).to_pylist()
    assert len(set(names)) == 5
    assert None not in names
    assert identities_of(files(base)).to_pylist() == names[:1]


@pytest.mark.parametrize("key", [("a", -1, -1), ("a", 10, 0), ("a", 10, 315_532_800_000)])
def test_file_that_cannot_be_told_from_another_has_no_name(key: tuple[str, int, int]) -> None:
    assert identities_of(files(key)).to_pylist() == [None]
    assert identities_of(files()).to_pylist() == []


@pytest.mark.parametrize(
    ("time", "started", "expected"),
    [
        (TIME, TIME + 100, True),
        (TIME, TIME + 99, False),
        (TIME, TIME - 5, False),
        (TIME - 123, TIME - 123 + 2_999, False),  # whole seconds
        (TIME - 123, TIME - 123 + 3_000, True),
        (UNCHANGING, 0, True),
    ],
)
def test_young_file_is_not_settled(time: int, started: int, expected: bool) -> None:
    assert settled(files(("a", 1, time)), started).tolist() == [expected]


def test_directory_that_cannot_be_used_has_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert store_in(str(tmp_path / "file")) is None
    assert store_in(str(tmp_path / "new")) is not None

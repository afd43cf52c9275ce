"""Tables and indexes in an object store. All rows are compared with those of plain Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.s3.store import PYTHON
from tests.launch.statements import OFF
from tests.s3.appender import appending
from tests.s3.conftest import Lake, rows

pytestmark = pytest.mark.programs


def test_index_in_the_table(lake: Lake) -> None:
    root = lake.table("inside")
    query = "SELECT * FROM inside WHERE id = 250"
    assert lake.same(query).kept == [5]
    lake.index("build", root)
    assert lake.same(query).kept == [1]
    assert lake.same("SELECT count(*), max(id) FROM inside WHERE id >= 120").kept == [1]
    lake.sql("INSERT INTO inside VALUES (5000, 'x')")
    assert lake.same("SELECT * FROM inside WHERE id = 5000").kept == [1]
    lake.index("refresh", root)
    assert lake.same("SELECT * FROM inside WHERE id >= 400").kept == [2]
    assert "6 files" in lake.index("describe", root).text
    lake.index("drop", root)
    assert lake.same(query).kept == [6]
    assert not [key for key in lake.keys("inside") if "_tamis" in key]


def test_index_in_another_location(lake: Lake) -> None:
    location = {"spark.tamis.index.location": "s3a://lake/indexes"}
    root = lake.table("outside")
    query = "SELECT * FROM outside WHERE id = 250"
    lake.index("build", root, location)
    assert lake.same(query, **location).kept == [1]
    assert lake.same(query).kept == [5]
    lake.put("outside/10.parquet", rows(10))
    lake.sql("REFRESH TABLE outside")
    lake.index("refresh", root, location)
    assert lake.same("SELECT * FROM outside WHERE id = 1050", **location).kept == [1]
    assert not [key for key in lake.keys("outside") if "_tamis" in key]
    lake.index("drop", root, location)
    assert lake.same(query, **location).kept == [6]
    assert not lake.keys("indexes")


def test_index_of_a_local_table(lake: Lake, tmp_path: Path) -> None:
    location = {"spark.tamis.index.location": "s3a://lake/of-local-tables"}
    for number in range(3):
        pq.write_table(rows(number), tmp_path / f"{number}.parquet")
    lake.index("build", str(tmp_path), location)
    answer = lake.same(f"SELECT * FROM parquet.`{tmp_path}` WHERE id = 150", **location)
    assert (answer.kept, answer.warnings) == ([1], [])


def test_first_query_of_a_planner(lake: Lake) -> None:
    """The index is read from the store, since neither memory nor the local cache has it."""
    lake.index("build", lake.table("cold"))
    query = "SELECT * FROM cold WHERE id = 250"
    lake.same(query)
    lake.restart()
    assert lake.same(query).kept == [1]


def test_warm_driver_requests_no_more_than_the_files_that_are_kept(lake: Lake) -> None:
    lake.index("build", lake.table("warm"))
    query = "SELECT * FROM warm WHERE id = 250"
    lake.sql(query)
    lake.store.requests()
    lake.sql(query, **OFF)
    plain = lake.store.requests()
    lake.sql(query)
    pruned = lake.store.requests()
    assert all(request.is_of_spark for request in pruned)
    assert {request.path for request in plain} == {f"/lake/warm/{n:02}.parquet" for n in range(5)}
    assert {request.path for request in pruned} == {"/lake/warm/02.parquet"}


def test_files_that_were_appended_overwritten_and_deleted(lake: Lake) -> None:
    root = lake.table("changing")
    lake.index("build", root)
    lake.put("changing/10.parquet", rows(10))
    before = lake.files.get_file_info("lake/changing/02.parquet")
    wait_for_another_second(lake)
    lake.put("changing/02.parquet", rows(77))
    assert lake.files.get_file_info("lake/changing/02.parquet").size == before.size
    lake.sql("REFRESH TABLE changing")
    expected = {1050: [2], 7750: [2], 250: [2]}  # both files are unknown
    for number, kept in expected.items():
        assert lake.same(f"SELECT * FROM changing WHERE id = {number}").kept == kept
    lake.index("refresh", root)
    for number, kept in {1050: [1], 7750: [1], 250: [0]}.items():
        assert lake.same(f"SELECT * FROM changing WHERE id = {number}").kept == kept
    lake.files.delete_file("lake/changing/02.parquet")
    lake.sql("REFRESH TABLE changing")
    assert lake.same("SELECT count(*) FROM changing WHERE id >= 0").rows == ["(500,)"]


def wait_for_another_second(lake: Lake) -> None:
    """Wait until the store gives later times to objects: it counts whole seconds."""

    def now() -> object:
        with lake.files.open_output_stream("lake/clock") as sink:
            sink.write(b"x")
        return lake.files.get_file_info("lake/clock").mtime

    first = now()
    lake.until(lambda: now() != first)


def test_partitions_with_unusual_names(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE odd (id LONG, p STRING) USING parquet PARTITIONED BY (p) "
        "LOCATION 's3a://lake/odd dir'"
    )
    values = ["a b", "50%", "x=y", "a/b", "日本", "%20", "é+ü"]
    pairs = ", ".join(f"({number}, '{value}')" for number, value in enumerate(values))
    lake.sql(f"INSERT INTO odd SELECT /*+ COALESCE(1) */ * FROM VALUES {pairs}")
    lake.index("build", "odd")
    assert "odd dir/_tamis/_index.json" in lake.keys("odd dir")
    for number, value in enumerate(values):
        lake.store.requests()
        answer = lake.sql(f"SELECT * FROM odd WHERE id = {number}")
        assert (answer.kept, answer.rows) == ([1], [repr((number, value))])
    answer = lake.same("SELECT * FROM odd WHERE p = 'x=y' AND id < 100")
    assert (answer.kept, len(answer.rows)) == ([1], 1)


def test_index_that_several_processes_change(lake: Lake) -> None:
    root = lake.table("shared", files=2)
    lake.index("build", root)
    for number in range(2, 8):
        lake.put(f"shared/{number:02}.parquet", rows(number))
    with appending(lake.store, root, [2, 3, 4]), appending(lake.store, root, [5, 6, 7]):
        for number in range(8, 11):
            lake.put(f"shared/{number:02}.parquet", rows(number))
            lake.index("refresh", root)
    lake.sql("REFRESH TABLE shared")
    every = "SELECT * FROM shared WHERE id % 100 = 0 AND id >= 100"
    answer = lake.same(every)
    assert (len(answer.rows), answer.warnings) == (10, [])
    lake.index("refresh", root)
    for number in (2, 7, 10):
        assert lake.same(f"SELECT * FROM shared WHERE id = {100 * number}").kept == [1]


class TestAutomaticIndex:
    @pytest.fixture(autouse=True)
    def automatic(self, lake: Lake) -> Iterator[None]:
        lake.sql("SET spark.tamis.index.auto = footers")
        yield
        lake.sql("RESET spark.tamis.index.auto")

    def test_files_that_are_read(self, lake: Lake) -> None:
        lake.table("read")
        query = "SELECT * FROM read WHERE id = 250"
        # files that may still be replaced within the same second are not indexed
        lake.until(lambda: lake.same(query).kept == [1])
        lake.store.requests()
        lake.sql(query)
        assert {each.path for each in lake.store.requests()} == {"/lake/read/02.parquet"}
        lake.put("read/02.parquet", rows(77))
        lake.sql("REFRESH TABLE read")
        assert len(lake.same("SELECT * FROM read WHERE id = 7750").rows) == 1
        assert lake.same(query).kept in ([0], [1])  # the file may still be too young to be indexed

    def test_files_that_are_written(self, lake: Lake) -> None:
        ids = "SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id FROM range(100)"
        lake.sql(f"CREATE TABLE written USING parquet LOCATION 's3a://lake/written' AS {ids}")
        lake.store.requests()
        # before any query
        lake.until(lambda: any(not each.is_of_spark for each in lake.store.requests()))
        lake.until(lambda: lake.same("SELECT * FROM written WHERE id = 50").kept == [1])

    def test_store_that_refuses_the_planner(self, lake: Lake) -> None:
        lake.table("unread")
        query = "SELECT * FROM unread WHERE id = 250"
        with lake.store.failing({"agent": PYTHON, "status": 403, "path": ".parquet"}):
            answer = lake.same(query)
            assert [each for each in lake.store.requests() if not each.is_of_spark]
        assert (answer.kept, answer.warnings) == ([5], [])


class TestFailures:
    """The rows are those of plain Spark, with one warning. Later queries use the index again."""

    @pytest.mark.parametrize("status", [403, 503])
    def test_store_that_refuses_the_planner(self, lake: Lake, status: int) -> None:
        lake.index("build", lake.table(f"refused_{status}"))
        query = f"SELECT * FROM refused_{status} WHERE id = 250"
        with lake.store.failing({"agent": PYTHON, "status": status}):
            answers = [lake.same(query) for _ in range(2)]
        assert [answer.kept for answer in answers] == [[5]] * 2
        (text,) = warnings_of(answers)
        assert f"the index s3a://lake/refused_{status}/_tamis cannot be reached" in text
        lake.forget()
        assert lake.same(query).kept == [1]

    def test_store_that_is_busy_for_a_moment(self, lake: Lake) -> None:
        lake.index("build", lake.table("busy"))
        with lake.store.failing({"agent": PYTHON, "status": 503, "times": 1}):
            answer = lake.same("SELECT * FROM busy WHERE id = 250")
        assert (answer.kept, answer.warnings) == ([1], [])

    def test_credentials_that_expire_in_the_session(self, lake: Lake) -> None:
        lake.index("build", lake.table("expiring"))
        query = "SELECT * FROM expiring WHERE id = 250"
        with lake.store.failing({"credential": "expired-key", "status": 403}):
            # Spark keeps the file system that it has opened with the first key
            lake.sql("SET fs.s3a.access.key = expired-key")
            answers = [lake.same(query) for _ in range(2)]
            lake.sql("SET fs.s3a.access.key = renewed-key")
            renewed = lake.same(query)
        lake.sql("RESET fs.s3a.access.key")
        assert [answer.kept for answer in answers] == [[5]] * 2
        (text,) = warnings_of(answers)
        assert "cannot be reached" in text
        assert (renewed.kept, renewed.warnings) == ([1], [])

    def test_store_that_does_not_answer_the_planner(self, lake: Lake) -> None:
        lake.index("build", lake.table("hanging"))
        query = "SELECT * FROM hanging WHERE id = 250"
        lake.store.requests()
        with lake.store.failing({"agent": PYTHON, "status": 0}):
            answers = [lake.same(query, **{"spark.tamis.timeout": "3s"}) for _ in range(2)]
            assert lake.store.hanging() > 0
        assert [answer.kept for answer in answers] == [[5]] * 2
        (text,) = warnings_of(answers)
        assert "cannot be reached (it does not answer in time)" in text
        lake.until(lambda: lake.forget() or lake.same(query).kept == [1])

    def test_warm_driver_does_not_wait_for_the_store(self, lake: Lake) -> None:
        lake.index("build", lake.table("later"))
        query = "SELECT * FROM later WHERE id = 250"
        assert lake.same(query).kept == [1]
        with lake.store.failing({"agent": PYTHON, "status": 0}):
            answer = lake.same(query)
        assert (answer.kept, answer.warnings) == ([1], [])

    @pytest.mark.parametrize(
        ("name", "content"),
        [("_files.stats", None), ("_checksums.json", b"{}"), ("_index.json", b"{}")],
    )
    def test_object_of_the_index_that_vanishes_or_is_corrupt(
        self, lake: Lake, name: str, content: bytes | None
    ) -> None:
        table = f"damaged{name.partition('.')[0]}"
        root = lake.table(table)
        lake.index("build", root)
        (key,) = [key for key in lake.keys(table) if key.endswith(name)]
        if content is None:
            lake.files.delete_file(f"lake/{key}")
        else:
            with lake.files.open_output_stream(f"lake/{key}") as sink:
                sink.write(content)
        query = f"SELECT * FROM {table} WHERE id = 250"
        answers = [lake.same(query) for _ in range(2)]
        assert [answer.kept for answer in answers] == [[5]] * 2
        (text,) = warnings_of(answers)
        assert "is damaged" in text
        lake.index("refresh", root)
        assert lake.same(query).kept == [1]


def warnings_of(answers: list[Any]) -> list[str]:
    return [text for answer in answers for text in answer.warnings]

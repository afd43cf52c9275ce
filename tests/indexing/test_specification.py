"""The specification of an index survives an overwrite of its table."""

from __future__ import annotations

import json
import shutil
import threading
import warnings
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tamis.errors import StatisticsIndexError
from tamis.indexing import storage
from tamis.indexing.cli import app
from tamis.indexing.format import specification as specifications
from tamis.indexing.format.layout import POINTER, hidden
from tamis.indexing.format.specification import SpecificationFile
from tamis.indexing.problems import IndexMissing, IndexUnusable
from tamis.indexing.read.open_indexes import Indexes
from tests.indexing.local import LocalIndex, LocalReader, spark_schema, uri_of

SCHEMA = spark_schema(a="long", b="long")
RICH: dict[str, Any] = {
    "columns": {"a": ["bloom", "values"], "b": "bounds"},
    "expressions": ["twice(a)"],
}


def write(root: Path, first: int = 0) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for k in range(2):
        values = [first + 10 * k, first + 10 * k + 1]
        pq.write_table(pa.table({"a": values, "b": values}), root / f"{first}-{k}.parquet")


def overwrite(root: Path) -> None:
    """Overwrite as `df.write.mode("overwrite")` does: delete the directory first."""
    shutil.rmtree(root)
    write(root, first=100)


def recorded_parts(index: LocalIndex) -> list[tuple[str, str]]:
    return sorted((entry.name, entry.kind) for entry in index.describe().recorded)


ALL = [
    ("a", "bloom"),
    ("a", "values"),
    ("b", "bounds"),
    ("twice(a)", "bounds"),
    ("twice(a)", "values"),
]


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, SCHEMA, tmp_path / "scratch")


class TestOverwrite:
    def test_refresh_restores_recorded_parts(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        overwrite(root)
        index.refresh()
        assert recorded_parts(index) == ALL

    def test_refresh_restores_the_selected_columns(self, index: LocalIndex, root: Path) -> None:
        index.build(columns=["b"])
        overwrite(root)
        index.refresh()
        assert [c["name"] for c in index.describe().to_dict()["columns"]] == ["b"]

    def test_refresh_restores_added_parts(self, index: LocalIndex, root: Path) -> None:
        index.build(columns={"b": "bounds"})
        index.add(columns={"a": "bloom"})
        overwrite(root)
        index.refresh()
        assert recorded_parts(index) == [("a", "bloom"), ("b", "bounds")]

    def test_add_restores_the_other_parts(self, index: LocalIndex, root: Path) -> None:
        index.build(columns={"b": "bounds"})
        overwrite(root)
        index.add(columns={"a": "bloom"})
        assert recorded_parts(index) == [("a", "bloom"), ("b", "bounds")]

    def test_build_replaces_the_specification(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        index.build(columns={"b": "bounds"})
        overwrite(root)
        index.refresh()
        assert recorded_parts(index) == [("b", "bounds")]

    def test_refresh_restores_after_every_overwrite(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        for _ in range(2):
            overwrite(root)
            index.refresh()
        assert recorded_parts(index) == ALL

    def test_drop_removes_the_specification(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        index.drop()
        with pytest.warns(UserWarning, match="no list of what an earlier one recorded"):
            index.refresh()
        assert recorded_parts(index) == []

    def test_drop_after_an_overwrite_removes_the_specification(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build(**RICH)
        overwrite(root)
        index.drop()
        assert not index._specification().exists()
        with pytest.raises(IndexMissing):
            index.describe()

    def test_tables_have_separate_specifications(self, index: LocalIndex, tmp_path: Path) -> None:
        index.build(**RICH)
        write(tmp_path / "other")
        other = LocalIndex(tmp_path / "other", SCHEMA, tmp_path / "scratch2")
        with pytest.warns(UserWarning, match="no list of what an earlier one recorded"):
            other.refresh()
        assert recorded_parts(other) == []

    def test_describe_names_the_command(self, index: LocalIndex, root: Path) -> None:
        index.build()
        overwrite(root)
        with pytest.raises(StatisticsIndexError, match=r"overwrite.*python -m tamis index refresh"):
            index.describe()

    def test_query_warning_names_the_command(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        def find() -> Any:
            return Indexes().find(uri_of(root), None, {}, str(tmp_path / "cache"), 0)

        index.build()
        overwrite(root)
        problem = find()
        assert isinstance(problem, IndexUnusable)
        assert problem.code == "index.overwritten"
        assert f"python -m tamis index refresh {uri_of(root)}" in problem.text
        index.drop()
        assert isinstance(find(), IndexMissing)


class TestDamage:
    def test_damaged_pointer_is_restored(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        (root / "_tamis" / POINTER).write_text("{")
        index.refresh()
        assert recorded_parts(index) == ALL

    @pytest.mark.parametrize("name", ["recorded.json", "recorded.stats", "files.stats"])
    def test_damaged_generation_is_restored(self, index: LocalIndex, root: Path, name: str) -> None:
        index.build(**RICH)
        next((root / "_tamis").rglob(hidden(name))).write_bytes(b"?")
        index.refresh()
        assert recorded_parts(index) == ALL

    def test_damaged_generation_preserves_the_selected_columns(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build(columns=["b"])
        index._specification().forget()
        next((root / "_tamis").rglob(hidden("files.stats"))).write_bytes(b"?")
        index.refresh()
        assert [c["name"] for c in index.describe().to_dict()["columns"]] == ["b"]

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"format": 99}', b"[]"])
    def test_damaged_specification_restores_nothing(
        self, index: LocalIndex, root: Path, content: bytes
    ) -> None:
        index.build(**RICH)
        Path(index._specification().path).write_bytes(content)
        overwrite(root)
        with pytest.warns(UserWarning, match="no list of what an earlier one recorded"):
            index.refresh()
        assert recorded_parts(index) == []


class TestAnotherSchema:
    def test_warning_names_missing_columns(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        overwrite(root)
        index.schema = spark_schema(a="long")
        with pytest.warns(UserWarning, match=r"no longer records b \(columns: "):
            index.refresh()
        assert recorded_parts(index) == [entry for entry in ALL if entry[0] != "b"]

    def test_columns_that_return_are_restored(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        overwrite(root)
        index.schema = spark_schema(a="long")
        with pytest.warns(UserWarning, match="no longer records b"):
            index.refresh()
        overwrite(root)
        index.schema = SCHEMA
        index.refresh()
        assert recorded_parts(index) == ALL

    def test_warning_names_unparsable_expressions(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build(**RICH)
        overwrite(root)

        def refuse(self: LocalReader, sql: str, schema: str) -> dict[str, Any]:
            raise StatisticsIndexError(f"expressions: {sql} cannot be analyzed")

        monkeypatch.setattr(LocalReader, "_parse", refuse)
        with pytest.warns(UserWarning, match=r"no longer records twice\(a\) \(expressions: "):
            index.refresh()
        assert recorded_parts(index) == ALL[:3]

    def test_all_columns_are_indexed_if_no_selected_column_is_left(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build(columns=["b"])
        overwrite(root)
        index.schema = spark_schema(a="long")
        with pytest.warns(UserWarning, match="no longer records b"):
            index.refresh()
        assert [c["name"] for c in index.describe().to_dict()["columns"]] == ["a"]


class TestPrecedence:
    def test_readable_index_takes_precedence(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        former = Path(index._specification().path).read_bytes()
        index.build(columns={"b": "bounds"})
        Path(index._specification().path).write_bytes(former)
        index.refresh()
        assert recorded_parts(index) == [("b", "bounds")]
        overwrite(root)
        index.refresh()
        assert recorded_parts(index) == [("b", "bounds")]

    def test_refresh_adopts_the_index_of_another_user(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        index._specification().forget()
        index.refresh()
        overwrite(root)
        index.refresh()
        assert recorded_parts(index) == ALL

    def test_concurrent_builds_store_the_specification_in_force(
        self, root: Path, tmp_path: Path
    ) -> None:
        requests: list[dict[str, Any]] = [RICH, {"columns": {"b": "bounds"}}]
        indexes = [LocalIndex(root, SCHEMA, tmp_path / f"scratch{k}") for k in range(2)]
        failures: list[BaseException] = []

        def build(k: int) -> None:
            try:
                for _ in range(4):
                    indexes[k].build(**requests[k])
            except BaseException as problem:
                failures.append(problem)

        threads = [threading.Thread(target=build, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        in_force = recorded_parts(indexes[0])
        overwrite(root)
        indexes[0].refresh()
        assert recorded_parts(indexes[0]) == in_force


class TestPlaces:
    def test_specification_is_stored_at_the_index_location(
        self, root: Path, tmp_path: Path
    ) -> None:
        location = uri_of(tmp_path / "indexes")
        index = LocalIndex(root, SCHEMA, tmp_path / "scratch", location=location)
        index.build(**RICH)
        path = Path(index._specification().path)
        assert path.parent == tmp_path / "indexes"
        assert path.name.startswith("_")
        shutil.rmtree(next(p for p in path.parent.iterdir() if p.is_dir()))
        index.refresh()
        assert recorded_parts(index) == ALL

    def test_unwritable_directory_is_a_warning(
        self, index: LocalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setattr(specifications, "_directory", lambda: tmp_path / "file" / "no")
        with pytest.warns(UserWarning, match=r"cannot be saved in .*spark\.tamis\.index\.location"):
            index.build(**RICH)
        assert recorded_parts(index) == ALL

    def test_interrupted_write_preserves_the_previous_specification(
        self, index: LocalIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build(**RICH)
        before = index._specification().read()
        assert before is not None

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(storage, "replace_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index._specification().write(msgspec.structs.replace(before, selected=("b",)))
        assert index._specification().read() == before


def test_all_specifications_are_listed(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write(tmp_path / name)
        LocalIndex(tmp_path / name, SCHEMA, tmp_path / f"scratch-{name}").build(**RICH)
    # Other files are left out.
    (home,) = {Path(SpecificationFile.at(uri_of(tmp_path), None, {}).path).parent}
    (home / "_0123.json").write_text("{")
    (home / "_4567.json").write_text('{"format": 99}')
    entries = [
        (each.root, dict(each.recorded.columns))
        for each, _ in SpecificationFile.all(None)
        if each.root.startswith(uri_of(tmp_path))
    ]
    assert [root for root, _ in entries] == [uri_of(tmp_path / "a"), uri_of(tmp_path / "b")]
    assert entries[0][1] == {"a": ("bloom", "values"), "b": ("bounds",)}
    listed = CliRunner().invoke(app, ["list", "--json"])
    assert {entry["root"] for entry in json.loads(listed.output)} >= {root for root, _ in entries}


def test_location_without_an_index_has_no_entries(tmp_path: Path) -> None:
    assert SpecificationFile.all(tmp_path.as_uri()) == []
    listed = CliRunner().invoke(app, ["list", "--location", tmp_path.as_uri()])
    assert listed.output == f"no index at {tmp_path.as_uri()}\n"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("build", "Default: all columns."),
        ("add", "Without --column, the index describes all columns"),
    ],
)
def test_help_of_column_fits_the_command(command: str, text: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert text in " ".join(shown.output.replace("│", " ").split())

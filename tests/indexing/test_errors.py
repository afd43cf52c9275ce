"""Errors of an index build: one line with the cause and the fix."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from typer.testing import CliRunner

import tamis
from tamis import cli
from tamis.errors import StatisticsIndexError, TamisError
from tamis.indexing import handle as handles
from tamis.indexing import place
from tamis.indexing.build import jobs as builds
from tamis.indexing.build.listing import not_listed, require_directory
from tamis.indexing.cli import app
from tests.indexing.local import LocalIndex, spark_schema, uri_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FakeSession:
    """A session that a command may stop."""

    def __init__(self) -> None:
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


class TestListing:
    def test_listing_errors_name_the_cause(self) -> None:
        text = (
            "An error occurred while calling o1.list.\n: java.io.IOException: no disk\n\tat x.y(z)"
        )
        error = not_listed("t", Exception(text), reads_parquet=True)
        assert str(error) == (
            "t cannot be listed (java.io.IOException: no disk): check the path or the name of the "
            "table"
        )
        assert error.shell == str(error)

    @pytest.mark.parametrize("reads_parquet", [True, False])
    def test_files_of_another_format_require_a_reader(self, reads_parquet: bool) -> None:
        problem = Exception("[UNABLE_TO_INFER_SCHEMA] Unable to infer schema for Parquet.")
        error = not_listed("t", problem, reads_parquet)
        assert ("reader=spark.read.format" in str(error)) == reads_parquet
        assert ("--format csv" in error.shell) == reads_parquet
        assert "spark.read" not in error.shell

    def test_path_of_a_single_file_names_its_directory(self, tmp_path: Path) -> None:
        (tmp_path / "a b").mkdir()
        file = tmp_path / "a b" / "0.parquet"
        pq.write_table(pa.table({"a": [1]}), file)
        listing = LocalIndex(tmp_path / "a b", spark_schema(a="long"), tmp_path / "scratch")._list()
        with pytest.raises(
            StatisticsIndexError, match=rf"is a file.*: pass file:{file.parent}\. Queries"
        ):
            require_directory(str(file), uri_of(file), listing.snapshot)
        require_directory(str(file.parent), uri_of(file.parent), listing.snapshot)


class TestCommands:
    @pytest.fixture(autouse=True)
    def session(self, monkeypatch: pytest.MonkeyPatch) -> FakeSession:
        session = FakeSession()
        monkeypatch.setattr(builds, "own_session", lambda confs: session)
        return session

    @pytest.mark.parametrize("command", ["build", "add", "refresh"])
    def test_interrupt_preserves_the_existing_index(
        self, command: str, session: FakeSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(place, "list_table", interrupted)
        done = CliRunner().invoke(app, [command, "/data/t"])
        assert done.exit_code == 130
        assert done.output == "tamis: interrupted: the index was not changed\n"
        assert session.is_stopped

    def test_error_of_a_cancelled_job_counts_as_an_interrupt(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cancelled(*_: Any, **__: Any) -> None:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            raise StatisticsIndexError("SPARK_JOB_CANCELLED")

        before = signal.getsignal(signal.SIGINT)
        monkeypatch.setattr(place, "list_table", cancelled)
        done = CliRunner().invoke(app, ["build", "/data/t"])
        assert done.exit_code == 130
        assert done.output == "tamis: interrupted: the index was not changed\n"
        assert signal.getsignal(signal.SIGINT) is before

    def test_interrupt_while_the_session_starts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(builds, "own_session", interrupted)
        done = CliRunner().invoke(app, ["build", "/data/t"])
        assert (done.exit_code, done.output) == (
            130,
            "tamis: interrupted: the index was not changed\n",
        )

    def test_interrupt_after_the_commit_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def built(self: Any, **_: Any) -> None:
            self._is_changed = True

        def interrupted(_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(handles.Index, "build", built)
        monkeypatch.setattr(handles.Index, "describe", interrupted)
        done = CliRunner().invoke(app, ["build", "/data/t"])
        assert done.output == "tamis: interrupted: the index had already been changed\n"

    def test_hints_use_shell_syntax(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def failed(*_: Any, **__: Any) -> None:
            raise not_listed("t", Exception("[UNABLE_TO_INFER_SCHEMA] x"), reads_parquet=True)

        monkeypatch.setattr(place, "list_table", failed)
        monkeypatch.setattr(sys, "argv", ["tamis", "index", "build", "t"])
        with pytest.raises(SystemExit, match="1"):
            cli.main()
        text = capsys.readouterr().err
        assert "--format csv" in text
        assert "reader=" not in text
        assert text.count("\n") == 1

    def test_warnings_take_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def warned(_: Any) -> None:
            warnings.warn("b is gone", stacklevel=2)
            raise StatisticsIndexError("stop")

        monkeypatch.setattr(handles.Index, "refresh", warned)
        assert CliRunner().invoke(app, ["refresh", "/data/t"]).output == "tamis: b is gone\n"


class TestPaths:
    def test_path_is_rejected_as_a_table_name(self) -> None:
        index: Any = tamis.index
        assert repr(index(None, Path("/data/t"))) == "tamis.index(spark, '/data/t')"
        assert repr(index(None, Path("t"))) == f"tamis.index(spark, '{Path.cwd()}/t')"
        assert repr(index(None, "t")) == "tamis.index(spark, 't')"


@pytest.mark.parametrize("version", ["3.5.6", "4.4.0"])
def test_configure_names_the_supported_versions(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(pyspark, "__version__", version)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    expected = re.escape(f"pyspark {version} is installed") + r".*4\.0 to 4\.3: pip install"
    with pytest.raises(TamisError, match=expected):
        tamis.configure(SparkSession.Builder())


def test_describe_writes_html(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a<b": [1]}), tmp_path / "0.parquet")
    index = LocalIndex(tmp_path, spark_schema(**{"a<b": "long"}), tmp_path / "scratch")
    index.build(columns={"a<b": "bounds"})
    text = index.describe()._repr_html_()
    assert text.count("<table>") == 2
    assert "<td>a&lt;b</td><td>long</td><td>1 / 1</td>" in text
    assert "1 files, 1 rows" in text


class TestWithSpark:
    def test_error_of_a_missing_path_takes_one_line(
        self, spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(StatisticsIndexError) as caught:
            tamis.index(spark, tmp_path / "nothing").build()
        assert "PATH_NOT_FOUND" in str(caught.value)
        assert "reader" not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        csv = spark.read.format("csv").schema("a INT")
        with pytest.raises(StatisticsIndexError, match="PATH_NOT_FOUND"):
            tamis.index(spark, tmp_path / "nothing", reader=csv).build()
        assert "\tat " not in capfd.readouterr().err.replace("\\tat", "\tat")

    def test_missing_table_is_an_error(self, spark: SparkSession) -> None:
        with pytest.raises(StatisticsIndexError, match="TABLE_OR_VIEW_NOT_FOUND") as caught:
            tamis.index(spark, "no_such_table").build()
        assert "reader" not in str(caught.value)

    def test_error_of_an_empty_directory_suggests_a_reader(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        with pytest.raises(StatisticsIndexError, match=r"reader=spark\.read\.format"):
            tamis.index(spark, tmp_path).build()

    def test_single_file_is_an_error(self, spark: SparkSession, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "0.parquet")
        with pytest.raises(StatisticsIndexError, match=f"is a file.*pass file:{tmp_path}"):
            tamis.index(spark, tmp_path / "0.parquet").build()
        assert tamis.index(spark, tmp_path).build().describe().to_dict()["files"] == 1

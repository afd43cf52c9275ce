"""`python -m tamis explain`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import tamis
from tamis import cli
from tamis.errors import TamisError
from tamis.indexing.build import jobs

if TYPE_CHECKING:
    from click.testing import Result
    from pyspark.sql import SparkSession

QUERY = "SELECT * FROM t WHERE id >= 990"


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    path = tmp_path / "a=b"
    spark.range(1000).repartitionByRange(4, "id").write.parquet(str(path))
    tamis.index(spark, str(path)).build()
    return path


@pytest.fixture
def confs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Let commands run in the session of the test. Return the confs that they pass."""

    class UnstoppableSession:
        def __getattr__(self, name: str) -> Any:
            return (lambda: None) if name == "stop" else getattr(spark, name)

    passed: dict[str, str] = {}
    monkeypatch.setattr(
        jobs, "own_session", lambda settings: passed.update(settings) or UnstoppableSession()
    )
    return passed


def explain(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli.app, ["explain", *arguments], input=text)


def test_command_in_its_own_process(table: Path) -> None:
    words = ["explain", "--table", f"t={table}", "--conf", "spark.master=local[1]", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tamis", *words, QUERY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (scan,) = json.loads(done.stdout)["scans"]
    assert (scan["files_kept"], scan["files_total"], scan["fallback"]) == (1, 4, None)


def test_text_is_that_of_tamis_explain(
    spark: SparkSession, table: Path, confs: dict[str, str]
) -> None:
    done = explain("--table", f"t={table}", "--conf", "spark.x=a=b", QUERY)
    assert done.exit_code == 0, done.output
    assert "1 of 4 files" in done.stdout
    assert "inexact     (id >= 990L)" in done.stdout
    assert confs["spark.x"] == "a=b"


def test_statement_of_standard_input(table: Path, confs: dict[str, str]) -> None:
    done = explain("--table", f"t={table}", "--json", "-", text=f"{QUERY};\n")
    assert json.loads(done.stdout)["scans"][0]["files_kept"] == 1


def test_page_is_written(table: Path, confs: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = explain("--table", f"t={table}", "--html", str(page), QUERY)
    assert (done.exit_code, done.stdout) == (0, f"{page}\n")
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "(id &gt;= 990L)" in text
    both = explain("--table", f"t={table}", "--html", str(page), "--json", QUERY)
    assert len(json.loads(both.stdout)["scans"]) == 1


def test_files_of_another_format(
    spark: SparkSession, tmp_path: Path, confs: dict[str, str]
) -> None:
    spark.range(10).write.orc(str(tmp_path / "orc"))
    words = ["--table", f"t={tmp_path / 'orc'}", "--format", "orc", "--json", QUERY]
    (left,) = json.loads(explain(*words).stdout)["left_to_spark"]
    assert left["reason"]


def test_command_in_the_statement_does_not_run(
    spark: SparkSession, table: Path, confs: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "written"
    insert = f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet {QUERY}"
    assert explain("--table", f"t={table}", insert).exit_code == 0
    assert not target.exists()
    assert explain("--table", f"t={table}", "DROP VIEW t").exit_code == 0
    assert spark.catalog.tableExists("t")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["SELEC 1"], "[PARSE_SYNTAX_ERROR]"),
        (["SELECT * FROM no_such"], "pass --table NAME=PATH"),
        (["--table", "t=/no/such/path", "SELECT * FROM t"], "[PATH_NOT_FOUND]"),
        (["--table", "t=/no", "--format", "parrot", "SELECT * FROM t"], "parrot"),
        (["--html", "/no/such/folder/x", "SELECT 1"], "pass another file with --html"),
    ],
)
def test_error_is_one_line(
    confs: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    says: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["tamis", "explain", *words])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (1, "")
    (line,) = err.splitlines()
    assert line.startswith("tamis: ")
    assert says in line


def test_spark_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: dict[str, str]) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited.\n\tat x")

    monkeypatch.setattr(jobs, "own_session", refused)
    done = explain("SELECT 1")
    assert isinstance(done.exception, TamisError)
    assert str(done.exception) == "[JAVA_GATEWAY_EXITED] Java gateway process exited"


def test_table_without_a_path_is_wrong_usage() -> None:
    done = explain("--table", "t", "SELECT 1")
    assert done.exit_code == 2
    assert "does not have the form" in done.output

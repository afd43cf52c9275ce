"""tamis.configure in a fresh process keeps existing JVM settings.

The first tests need no JVM.
"""

from __future__ import annotations

import os
import shlex
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import tamis
from tamis.launch import SubmitArguments, defaults, parse_properties
from tamis.session import EXTENSION
from tests.launch.conftest import ROWS
from tests.launch.processes import report, run, spark


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Make this process look as if it had neither a JVM nor settings."""
    for name in ("_gateway", "_active_spark_context"):
        monkeypatch.setattr(SparkContext, name, None)
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return monkeypatch


# spark-defaults.conf | PYSPARK_SUBMIT_ARGS | confs of the builder | spark.jars of the JVM (TAMIS
# stands for the jar) | spark.sql.extensions (+ stands for tamis)
CASES = [
    ("", "", {}, "TAMIS", "+"),
    ("", "pyspark-shell", {"spark.jars": "b.jar"}, "b.jar,TAMIS", "+"),
    ("", "", {"spark.sql.extensions": "a.B, c.D"}, "TAMIS", "a.B,c.D,+"),
    ("", "", {"spark.sql.extensions": EXTENSION, "spark.jars": "TAMIS"}, "TAMIS", "+"),
    ("spark.jars d.jar", "", {}, "d.jar,TAMIS", "+"),
    ("spark.sql.extensions=d.E", "", {}, "TAMIS", "d.E,+"),
    # as in Spark, the file counts only for keys that are set nowhere else
    ("spark.jars d.jar\nspark.sql.extensions d.E", "", {"spark.jars": "b"}, "b,TAMIS", "d.E,+"),
    ("spark.sql.extensions d.E", "", {"spark.sql.extensions": "a.B"}, "TAMIS", "a.B,+"),
    ("spark.jars d.jar", "--jars a.jar pyspark-shell", {}, "a.jar,TAMIS", "+"),
    ("", "--jars=a.jar,b.jar pyspark-shell", {}, "a.jar,b.jar,TAMIS", "+"),
    ("", "--conf spark.jars=a.jar pyspark-shell", {}, "a.jar,TAMIS", "+"),
    ("", "--jars a.jar --conf spark.jars=x.jar pyspark-shell", {}, "a.jar,TAMIS", "+"),
    # plain Spark would hide one of the two from the driver or from the executors
    ("", "--jars a.jar pyspark-shell", {"spark.jars": "b.jar"}, "a.jar,b.jar,TAMIS", "+"),
    ("", "--conf spark.sql.extensions=a.B pyspark-shell", {}, "TAMIS", "a.B,+"),
    ("", "-c spark.sql.extensions=a.B --conf=spark.sql.extensions=c.D x", {}, "TAMIS", "c.D,+"),
    ("", "--packages org:a:1 pyspark-shell", {}, "TAMIS", "+"),
    ("", "", {"spark.jars.packages": "org:a:1"}, "TAMIS", "+"),
    ("spark.jars.packages org:a:1\nspark.jars d.jar", "", {}, "d.jar,TAMIS", "+"),
]


@pytest.mark.parametrize(("file", "arguments", "confs", "jars", "extensions"), CASES)
def test_existing_settings_are_kept(
    fresh: pytest.MonkeyPatch,
    tmp_path: Path,
    jar: str,
    file: str,
    arguments: str,
    confs: dict[str, str],
    jars: str,
    extensions: str,
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(file)
    fresh.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    builder = SparkSession.builder
    for key, value in confs.items():
        builder.config(key, value.replace("TAMIS", jar))
    for _ in range(2):  # the second call changes nothing
        assert tamis.configure(builder) is builder
        # the result of spark-submit for the arguments, the builder and the file, in this order
        words = SubmitArguments.of(os.environ)
        configured_jars = words.conf("spark.jars") or builder._options.get("spark.jars")
        assert configured_jars == jars.replace("TAMIS", jar)
        assert builder._options["spark.sql.extensions"] == extensions.replace("+", EXTENSION)
        assert words.words[-1] == (arguments.split() or ["pyspark-shell"])[-1]
        packages = "packages" in file + arguments + str(confs)
        # settings of the builder hide from executors what spark-submit fetched
        assert not (packages and "spark.jars" in builder._options)


def test_second_properties_file(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.a 1\nspark.b 1")
    other = tmp_path / "my own.conf"
    other.write_text("spark.b 2")
    only = SubmitArguments(("--properties-file", str(other), "pyspark-shell"))
    assert defaults(only, os.environ, "/nowhere") == {"spark.b": "2"}
    both = SubmitArguments(("--load-spark-defaults", *only.words))
    assert defaults(both, os.environ, "/nowhere") == {"spark.a": "1", "spark.b": "2"}
    none = SubmitArguments(("--properties-file=/nowhere/x", "pyspark-shell"))
    assert defaults(none, os.environ, "/nowhere") == {}


# text of a properties file | properties that Java reads
PROPERTIES = [
    ("", {}),
    ("a b c", {"a": "b c"}),
    ("a=b=c", {"a": "b=c"}),
    ("  a :  b  ", {"a": "b"}),
    ("a\t= b", {"a": "b"}),
    ("# a b\n! c d\n\n", {}),
    ("a 1\na 2", {"a": "2"}),
    ("a b\\\n   c\nd e", {"a": "bc", "d": "e"}),
    ("a\\ b c\\\\d", {"a b": "c\\d"}),
    ("a", {"a": ""}),
    ("=x", {}),
    ("\\", {}),
]


@pytest.mark.parametrize(("text", "expected"), PROPERTIES)
def test_properties_are_parsed_as_in_java(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_configure_chooses_the_python_of_the_planner(fresh: pytest.MonkeyPatch) -> None:
    def chosen(builder: SparkSession.Builder, **arguments: str) -> object:
        return tamis.configure(builder, **arguments)._options["spark.tamis.python"]

    assert chosen(SparkSession.builder) == sys.executable
    assert chosen(SparkSession.builder, python="/p") == "/p"
    assert chosen(SparkSession.builder.config("spark.tamis.python", "/own")) == "/own"
    assert chosen(SparkSession.builder.config("spark.tamis.python", "/own"), python="/p") == "/p"


def test_builder_of_a_remote_server_stays_unchanged(fresh: pytest.MonkeyPatch) -> None:
    assert tamis.configure(SparkSession.builder.remote("sc://h"))._options == {
        "spark.remote": "sc://h"
    }
    fresh.setenv("SPARK_REMOTE", "sc://h")
    assert tamis.configure(SparkSession.builder)._options == {}


# From here on every test starts its own process.


@pytest.fixture
def jars_of_others(tmp_path: Path) -> dict[str, str]:
    """Build two jars, first and second, that contain first.txt and second.txt for the driver."""
    paths = {}
    for name in ("first", "second"):
        paths[name] = str(tmp_path / f"{name}.jar")
        with zipfile.ZipFile(paths[name], "w") as archive:
            archive.writestr(f"{name}.txt", "here")
    return paths


@pytest.fixture
def configured(
    tmp_path: Path, environment: dict[str, str], app: Callable[[str], str], repository: Path
) -> Callable[..., list[str]]:
    environment["PYTHONPATH"] = str(repository / "python")
    return lambda *arguments: [sys.executable, app("configured"), *arguments]


@pytest.mark.spark
def test_configure_with_site_settings(
    tmp_path: Path,
    environment: dict[str, str],
    configured: Callable[..., list[str]],
    query: str,
    jar: str,
    jars_of_others: dict[str, str],
) -> None:
    site = f"spark.jars {jars_of_others['first']}\nspark.sql.extensions org.example.Site\n"
    settings = Path(environment["SPARK_CONF_DIR"])
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(site)
    result = report(run(configured(query, "site"), tmp_path, environment))
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]
    assert result["extensions"] == f"org.example.Site,{EXTENSION}"
    assert result["jars"] == f"{jars_of_others['first']},{jar}"
    assert result["loaded"] == ["first"]
    assert result["python"] == sys.executable


@pytest.mark.spark
def test_configure_with_notebook_arguments(
    tmp_path: Path,
    environment: dict[str, str],
    configured: Callable[..., list[str]],
    query: str,
    jars_of_others: dict[str, str],
) -> None:
    arguments = ["--jars", jars_of_others["second"], "--conf", "spark.app.name=mine"]
    arguments += ["--conf", "spark.sql.extensions=org.example.Notebook", "pyspark-shell"]
    environment["PYSPARK_SUBMIT_ARGS"] = shlex.join(arguments)
    result = report(run(configured(query, "notebook"), tmp_path, environment))
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]
    assert result["extensions"] == f"org.example.Notebook,{EXTENSION}"
    assert result["loaded"] == ["second"]


@pytest.mark.spark
def test_configure_after_a_session_without_tamis_fails(
    tmp_path: Path, environment: dict[str, str], configured: Callable[..., list[str]], query: str
) -> None:
    result = report(run(configured(query, "late"), tmp_path, environment))
    assert "without tamis is already running in this process" in result["refused"]
    assert "spark.stop()" in result["refused"]
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]


@pytest.mark.spark
def test_configure_in_a_spark_submit_application(
    tmp_path: Path,
    environment: dict[str, str],
    configured: Callable[..., list[str]],
    query: str,
    jars_of_others: dict[str, str],
) -> None:
    """Neither jar nor extension is on the command line: configure adds both to the driver."""
    _, *application = configured(query, "submitted")
    others = ["--jars", jars_of_others["first"], "--conf", "spark.sql.extensions=org.example.X"]
    result = report(run([spark("spark-submit"), *others, *application], tmp_path, environment))
    assert result["rows"] == ROWS
    assert "Files: 1 of 8" in result["plan"]
    assert result["extensions"] == f"org.example.X,{EXTENSION}"
    assert result["loaded"] == ["first"]
    assert jars_of_others["first"] in result["jars"]

"""The types that type checkers infer for tamis in the script of a user."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tamis

pytestmark = pytest.mark.programs

# "reveals": the type of the expression.  "error": a diagnostic on that line.
SCRIPT = """\
from pathlib import Path
from typing import reveal_type

import tamis
from pyspark.sql import SparkSession
from tamis import explain, index

spark = tamis.configure(SparkSession.builder).getOrCreate()
reveal_type(spark)  # reveals SparkSession
reveal_type(tamis.index(spark, "t"))  # reveals Index
reveal_type(index(spark, Path("t")).build())  # reveals Index
reveal_type(tamis.explain(spark.table("t")))  # reveals Explanation
reveal_type(explain(spark.table("t")).to_dict())  # reveals dict[str, Any]
reveal_type(tamis.why_not(spark.table("t")))  # reveals Explanation
reveal_type(tamis.declare(spark, "f", monotone=abs))  # reveals Contract
predicate = tamis.parse(spark, "x > 5", "x INT")
reveal_type(tamis.classify(predicate, tamis.Capabilities()))  # reveals Classification
reveal_type(tamis.classify(predicate, tamis.Capabilities()).pushdown)  # reveals Pushdown
reveal_type(tamis.what_if(spark.table("t"), cluster_by=["x"]))  # reveals WhatIf
reveal_type(tamis.PartitionField("ts", "day", "ts_day"))  # reveals PartitionField
reveal_type(tamis.__version__)  # reveals str
tamis.index(spark, "t").build(colums=["a"])  # error
tamis.index(spark, 5)  # error
tamis.index("t")  # error
tamis.explain("SELECT 1")  # error
tamis.configure(spark)  # error
tamis.declare(spark, "f", monoton=abs)  # error
tamis.parse(spark, "x > 5")  # error
tamis.evaluate("x > 5", {}, [1])  # error
tamis.indx(spark, "t")  # error
tamis.index(spark, "t").biuld()  # error
"""
REVEALED = [
    (number, text)
    for number, line in enumerate(SCRIPT.splitlines(), 1)
    for text in re.findall(r"# reveals (.*)", line)
]
ERRORS = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if "# error" in line}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "script.py"
    path.write_text(SCRIPT)
    return path


def program(name: str) -> str:
    """Return the path of a program in this environment, or else on the PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    executable = beside or shutil.which(name)
    if executable is None:
        pytest.skip(f"{name} is not installed: it is a part of the group test of pyproject.toml")
    return executable


def bare(text: str) -> str:
    """Return a type without the modules of its names."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def check(revealed: dict[int, str], errors: set[int], output: str) -> None:
    assert {number: bare(text) for number, text in revealed.items()} == dict(REVEALED), output
    assert errors == ERRORS, output


def test_mypy_infers_the_expected_types(script: Path, repository: Path) -> None:
    done = subprocess.run(
        [
            *(program("mypy"), "--follow-imports=silent", "--no-error-summary"),
            *("--config-file=", "--python-executable", sys.executable),
            *("--cache-dir", str(repository / "build" / "mypy-of-scripts"), str(script)),
        ],
        cwd=script.parent,
        env={"MYPYPATH": str(repository / "python"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"^script\.py:(\d+): (\w+): (.*)$", done.stdout, re.MULTILINE)
    revealed = {
        int(number): match.group(1)
        for number, kind, text in lines
        if kind == "note" and (match := re.match(r'Revealed type is "(.*)"$', text))
    }
    errors = {int(number) for number, kind, _ in lines if kind == "error"}
    check(revealed, errors, done.stdout + done.stderr)


def test_pyright_infers_the_expected_types(script: Path, repository: Path) -> None:
    command = program("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs Node.js, and there is no node on the PATH")
    settings = {"extraPaths": [str(repository / "python")], "include": [script.name]}
    (script.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable],
        cwd=script.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    diagnostics = json.loads(done.stdout)["generalDiagnostics"]
    lines = [(d["range"]["start"]["line"] + 1, d["severity"], d["message"]) for d in diagnostics]
    revealed = {
        number: match.group(1)
        for number, kind, text in lines
        if kind == "information" and (match := re.match(r'Type of ".*" is "(.*)"$', text))
    }
    check(revealed, {number for number, kind, _ in lines if kind == "error"}, done.stdout)


def test_type_checkers_see_every_public_name() -> None:
    text = Path(tamis.__file__).read_text("utf-8")
    block = text.partition("if TYPE_CHECKING:")[2].partition("# Public name ->")[0]
    imported = re.findall(r"    from ([\w.]+) import (\w+) as \2$", block, re.MULTILINE)
    assert {name: module for module, name in imported} == tamis._DEFINED_IN

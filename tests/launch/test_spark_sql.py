"""The spark-sql shell with the two confs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.conftest import ROWS
from tests.launch.processes import EXTENSION, run, spark

pytestmark = pytest.mark.spark


def test_explain_shows_the_files_and_the_query_gives_the_rows(
    tmp_path: Path, environment: dict[str, str], query: str, jar: str
) -> None:
    command = [spark("spark-sql"), "--jars", jar, "--conf", EXTENSION]
    output = run([*command, "-e", f"EXPLAIN {query}; {query} ORDER BY id"], tmp_path, environment)
    assert "Files: 1 of 8" in output
    assert output.splitlines()[-len(ROWS) :] == [str(row) for row in ROWS]

"""Random queries over Delta and Iceberg tables return the same rows with tamis on and off.

For longer than a test: `python tests/differential/queries.py --formats --seed 7 --count 2000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.statements import Statements

pytestmark = pytest.mark.spark


def test_random_queries_return_the_same_rows(formats: Statements, tmp_path: Path) -> None:
    tally = formats.function(
        "tests.differential.queries:run",
        folder=str(tmp_path),
        seed=1,
        count=24,
        with_formats=True,
    )
    assert tally["differences"] == []
    assert tally["queries"] >= 24
    assert 0 < tally["files_kept"] < tally["files_total"]

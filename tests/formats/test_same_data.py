"""The same rows in the same files get the same verdicts in every format.

For longer than a test: `python tests/formats/same_data.py --seed 7 --count 2000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.statements import Statements

pytestmark = pytest.mark.spark


def test_same_files_are_kept_in_every_format(formats: Statements, tmp_path: Path) -> None:
    tally = formats.function("tests.formats.same_data:run", folder=str(tmp_path), seed=1, count=24)
    assert tally["differences"] == []
    assert tally["predicates"] == 24
    # A comparison without pruning proves nothing.
    assert tally["rows"] > 0
    assert all(0 < kept < tally["files"] for kept in tally["kept"].values())

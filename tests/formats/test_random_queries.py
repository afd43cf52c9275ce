"""Random queries over Delta and Iceberg tables return the same rows with tamis on and off.

For longer than a test: `python tests/differential/queries.py --formats --seed 7 --count 2000`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.formats.commands import checked

pytestmark = pytest.mark.spark


def test_random_queries_return_the_same_rows(tmp_path: Path, repository: Path) -> None:
    arguments = ("--formats", "--seed=1", "--count=40", "--shrink=0")
    output = checked(repository, tmp_path, "tests/differential/queries.py", *arguments)
    kept, total = map(int, re.findall(r"(\d+) of (\d+) files kept", output)[-1])
    assert 0 < kept < total

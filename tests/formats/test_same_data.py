"""The same rows in the same files get the same verdicts in every format.

For longer than a test: `python tests/formats/same_data.py --seed 7 --count 2000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.commands import checked

pytestmark = pytest.mark.spark


def test_same_files_are_kept_in_every_format(tmp_path: Path, repository: Path) -> None:
    checked(repository, tmp_path, "tests/formats/same_data.py", "--seed=1", "--count=40")

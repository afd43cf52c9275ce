"""Queries while other sessions commit return the rows of one version.

For longer than a test: `python tests/formats/concurrent_commits.py --seed 7 --count 2000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.commands import checked

pytestmark = pytest.mark.spark


def test_each_answer_is_that_of_a_version(tmp_path: Path, repository: Path) -> None:
    limits = ("--count=80", "--seconds=45")
    checked(repository, tmp_path, "tests/formats/concurrent_commits.py", "--seed=1", *limits)

"""Iceberg plans some manifests of a snapshot as it plans them with all others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.formats.commands import checked

pytestmark = pytest.mark.spark


def test_the_tasks_of_some_manifests_are_those_of_the_whole_plan(
    tmp_path: Path, repository: Path
) -> None:
    output = checked(repository, tmp_path, "tests/formats/iceberg_plans.py")
    compared, with_deletes = map(int, re.findall(r"(\d+) tasks", output)[-2:])
    assert compared > 500
    assert with_deletes > 100

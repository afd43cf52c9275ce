"""Iceberg plans some manifests of a snapshot as it plans them with all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.statements import Statements

pytestmark = pytest.mark.spark


def test_the_tasks_of_some_manifests_are_those_of_the_whole_plan(
    formats: Statements, tmp_path: Path
) -> None:
    tally = formats.function("tests.formats.iceberg_plans:compare", folder=str(tmp_path))
    assert tally["compared"] > 300
    assert tally["with_deletes"] > 80

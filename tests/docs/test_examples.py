"""The examples in the pages of docs/ do what they say."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("name", "least"), [("how_it_works", 8), ("statistics_index", 6)])
def test_page(spark: SparkSession, repository: Path, tmp_path: Path, name: str, least: int) -> None:
    page = repository / "docs" / f"{name}.md"
    names = {"spark": spark, "path": str(tmp_path / "events")}
    example = doctest.DocTestParser().get_doctest(
        page.read_text().replace("```", ""), names, page.name, str(page), 0
    )
    assert len(example.examples) > least
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0

"""The examples in the pages of docs/ do what they say."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_how_it_works(spark: SparkSession, repository: Path, tmp_path: Path) -> None:
    page = repository / "docs" / "how_it_works.md"
    names = {"spark": spark, "path": str(tmp_path / "events")}
    example = doctest.DocTestParser().get_doctest(
        page.read_text().replace("```", ""), names, page.name, str(page), 0
    )
    assert len(example.examples) > 8
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0

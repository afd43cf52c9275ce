"""The examples in the pages of docs/ give the output that the pages show."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "name",
    [
        "how_it_works",
        "adding_an_operator",
        "declared_functions",
        "statistics_index",
        "history",
        "checking",
        "remembered",
    ],
)
def test_examples_of_a_page_run(
    name: str, spark: SparkSession, repository: Path, tmp_path: Path
) -> None:
    settings = {
        "history.enabled": "true",
        "index.auto": "footers",
        "remember.enabled": "true",
        "cache.location": str(tmp_path / "cache"),  # without what other tests remember
    }
    for conf, value in settings.items():
        spark.conf.set(f"spark.tamis.{conf}", value)
    page = repository / "docs" / f"{name}.md"
    names = {"spark": spark, "path": str(tmp_path / "events")}
    example = doctest.DocTestParser().get_doctest(
        page.read_text().replace("```", ""), names, page.name, str(page), 0
    )
    assert len(example.examples) > 5
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(example).failed == 0

"""docs/partitioning.md says what the lifting rules say."""

from __future__ import annotations

from pathlib import Path

from tamis.classify.partitioning import to_markdown


def test_the_committed_page_is_the_current_one(repository: Path) -> None:
    committed = (repository / "docs" / "partitioning.md").read_text("utf-8")
    assert committed == to_markdown(), "run `make partitioning`"

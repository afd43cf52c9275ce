"""docs/partitioning.md equals the page generated from the lifting rules."""

from __future__ import annotations

from pathlib import Path

from tamis.classification.partitioning import to_markdown


def test_committed_page_is_up_to_date(repository: Path) -> None:
    committed = (repository / "docs" / "partitioning.md").read_text("utf-8")
    assert committed == to_markdown(), "run `make partitioning`"

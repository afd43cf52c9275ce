"""The text of the repository avoids the words that docs/style.md lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

#: Words that are never used in their ordinary sense here. The page lists more, which need judgment.
CHECKED = ("told", "nobody", "dear", "whoever", "hardly", "thereof", "in vain", "so many that")
_WORDS = re.compile(rf"\b({'|'.join(CHECKED)})\b", re.IGNORECASE)
_SUFFIXES = {".py", ".scala", ".java", ".md", ".json", ".toml", ".sbt", ".sh", ""}
#: The page itself, and this file.
_EXCEPT = {"LICENSE", "docs/style.md", "tests/docs/test_style.py"}


def violations(text: str) -> list[str]:
    """Return the lines that contain a word to avoid."""
    return [line.strip() for line in text.splitlines() if _WORDS.search(line)]


@pytest.mark.parametrize("word", CHECKED)
def test_page_lists_every_checked_word(word: str, repository: Path) -> None:
    rows = re.findall(r"^\| (.+?) \|", (repository / "docs/style.md").read_text("utf-8"), re.M)
    assert any(word in [each.strip() for each in row.split(",")] for row in rows)


def test_words_to_avoid_are_found_on_their_line() -> None:
    assert violations("a file\nnobody reads it\n") == ["nobody reads it"]
    assert violations("a toldster") == []


def test_text_avoids_the_words(repository: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=False
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not names:
        pytest.skip("not a git checkout")
    found = {
        name: lines
        for name in names
        if Path(name).suffix in _SUFFIXES and name not in _EXCEPT and (repository / name).is_file()
        for lines in [violations((repository / name).read_text("utf-8", "replace"))]
        if lines
    }
    assert not found

"""Values written as text. Other texts are rejected."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis.evaluation.functions.strings.byte_rows import lengths_of, rows_of
from tamis.evaluation.functions.strings.string_parts import beginning
from tamis.evaluation.functions.temporal.written_moments import parsed_moments

PATTERN = "yyyy-MM-dd"


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("2024-01-31", True),
        ("2024-12-01", True),
        ("2024-02-29", True),
        ("0001-01-01", True),
        ("2024-13-05", False),
        ("2024-00-05", False),
        ("2024-01-00", False),
        ("2024-01-32", False),
        ("2023-02-29", False),
        ("0000-01-01", False),
        ("2024-1-005", False),
        ("2024/01/31", False),
        ("2024-01-3a", False),
    ],
)
def test_date_of_the_calendar_is_parsed(text: str, is_date: bool) -> None:
    texts = pa.array([text.encode()], pa.large_binary())
    _, valid = parsed_moments(rows_of(texts, len(PATTERN)), lengths_of(texts), PATTERN)
    assert valid.tolist() == [is_date]


@pytest.mark.parametrize(
    ("hour", "is_time"),
    [
        ("00:00:00", True),
        ("23:59:59", True),
        ("24:00:00", False),
        ("00:60:00", False),
        ("00:00:60", False),
    ],
)
def test_time_of_day_is_parsed(hour: str, is_time: bool) -> None:
    pattern = "yyyy-MM-dd HH:mm:ss"
    texts = pa.array([f"2024-05-06 {hour}".encode()], pa.large_binary())
    _, valid = parsed_moments(rows_of(texts, len(pattern)), lengths_of(texts), pattern)
    assert valid.tolist() == [is_time]


@pytest.mark.parametrize(
    "text",
    [
        "\u007fx",
        "\u0080x",
        "\u00bfx",
        "\u07ffx",
        "\u0800x",
        "\uffffx",
        "\U00010000x",
        "\U0010ffffx",
    ],
)
def test_first_character_has_all_of_its_bytes(text: str) -> None:
    assert beginning(text.encode(), 1) == text[0].encode()
    assert beginning(text.encode(), 2) == text.encode()
    assert beginning(text.encode(), 3) == text.encode()

"""Registries: reasons whose templates fit their arguments, and public names that resolve."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tamis
from tamis.reasons import REASONS, reason


@pytest.mark.parametrize("code", sorted(REASONS))
def test_reason_has_a_sentence_for_its_example(code: str) -> None:
    why = reason(code, **REASONS[code].example)
    assert why.code == code
    assert not re.search(r"\{\w*\}", f"{why.text} {why.fix}")


PUBLIC = "Capabilities LiftingRule PartitionField Pushdown Reason Verdict classify evaluate"
PUBLIC += " from_duckdb to_duckdb"


@pytest.mark.parametrize("name", PUBLIC.split())
def test_public_name_resolves(name: str) -> None:
    assert name in tamis.__all__
    assert callable(getattr(tamis, name))


def test_import_is_cheap() -> None:
    script = (
        "import sys, tamis; print({'numpy', 'pyarrow', 'pyspark', 'msgspec'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"

"""Registries: reasons whose templates fit their arguments, and public names that resolve."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.expr.spelling import BETWEEN, NAMES
from tamis.reasons import REASONS, reason, to_markdown


@pytest.mark.parametrize("code", sorted(REASONS))
def test_template_fits_the_example_of_the_reason(code: str) -> None:
    why = reason(code, **REASONS[code].example)
    assert why.code == code
    assert not re.search(r"\{\w*\}", f"{why.text} {why.fix}")


def test_committed_page_is_up_to_date(repository: Path) -> None:
    committed = (repository / "docs" / "reasons.md").read_text("utf-8")
    assert committed == to_markdown(), "run `make reasons`"


@pytest.mark.parametrize("code", sorted(REASONS))
def test_page_lists_all_but_internal_reasons(code: str) -> None:
    assert (f"| `{code}` |" in to_markdown()) is not REASONS[code].is_internal


@pytest.mark.parametrize("code", sorted(REASONS))
def test_reason_is_one_readable_sentence(code: str) -> None:
    kind = REASONS[code]
    assert kind.meaning.endswith(".")
    assert "|" not in kind.meaning
    assert re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", code)


#: Packages that give no reasons, and have words of their own in capitals.
WITHOUT_REASONS = {"remote", "publish", "sources", "vgi"}


def _codes_in(folder: Path, pattern: str, before: str) -> set[str]:
    """Return the quoted codes that follow one of the words that construct a reason."""
    codes = set()
    for file in folder.rglob(pattern):
        if not WITHOUT_REASONS & set(file.parts):
            codes |= set(re.findall(before + r'"([A-Z][A-Z0-9_]+)"', file.read_text("utf-8")))
    return codes


def test_code_uses_exactly_the_registered_reasons(repository: Path) -> None:
    scala = repository / "jvm-shim" / "src" / "main" / "scala"
    # Eligibility lists its codes as checks: `condition -> "CODE"`.
    in_scala = _codes_in(scala, "*.scala", r"(?:Reasons\(\s*|LeftInPlan\(|-> )")
    python = repository / "python" / "tamis"
    in_python = _codes_in(python, "*.py", r"(?:reason\(\s*|nothing\(\s*|code = )")
    in_python |= _codes_in(python, "*.py", r" else ")
    assert in_scala | in_python == set(REASONS)
    constructed = _codes_in(scala, "*.scala", r"\bReason\(\s*")
    assert constructed == set(), "Reasons(code) reads the registry"


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


def test_function_names_equal_those_of_the_operators_page() -> None:
    """Functions without an SQL name keep their class name."""
    pages = {each.name: each.sql for each in FUNCTION_ENTRIES}
    assert not {*NAMES, *BETWEEN} - set(pages)
    for name, sql_name in NAMES.items():
        assert re.search(rf"(^|, ){re.escape(sql_name)}($|,|\()", pages[name]), name
    for name, operator in BETWEEN.items():
        assert operator in re.split(r"[ ,]+", pages[name].upper()), name

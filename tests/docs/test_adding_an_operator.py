"""docs/adding_an_operator.md names existing files, code and commands."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tamis.evaluation.domain import truth
from tamis.evaluation.functions.arithmetic import factorial
from tamis.evaluation.functions.registry import FAMILIES
from tamis.evaluation.nodes.operators import FUNCTIONS, PREDICATES
from tests.cases.tables import ON_ROWS, TABLES, swept
from tests.differential.expressions import EXPRESSIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding_an_operator.md"
TEXT = PAGE.read_text("utf-8")
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.S) if ">>>" not in block]


def test_named_files_exist(repository: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", TEXT))
    assert len(named) >= 3
    for name in named:
        folders = ("", "python/tamis")
        assert any((repository / folder / name).is_file() for folder in folders), name


@pytest.mark.parametrize("block", BLOCKS)
def test_excerpts_equal_the_code(block: str, repository: Path) -> None:
    files = (
        "python/tamis/evaluation/functions/arithmetic/factorial.py",
        "tests/cases/factorial.py",
    )
    sources = [(repository / file).read_text("utf-8") for file in files]
    pieces = block.strip("\n").split("\n\n") if "def " not in block else [block.strip("\n")]
    lines = [line for piece in pieces for line in piece.splitlines()]
    assert any(all(line in source.splitlines() for line in lines) for source in sources)


def test_used_names_exist() -> None:
    names = dict.fromkeys(("numbers", "result", "Knowledge", "FunctionEntry"), factorial)
    for name, module in {**names, "TruthSet": truth}.items():
        assert f"`{name}`" in TEXT
        assert hasattr(module, name)


def test_make_targets_exist(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^    make (\w+)", TEXT, re.M))
    assert targets == {
        "operators",
        "snapshots",
        "verdicts",
        "sweep",
        "format",
        "check",
        "test",
    }
    assert all(f"\n{target}: " in makefile for target in targets)
    assert all(f"$({variable})" in makefile for variable in re.findall(r" ([A-Z]+)=", TEXT))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_entries_of_a_family_are_registered(family: ModuleType) -> None:
    for entry in family.ENTRIES:
        assert entry.name in FUNCTIONS or entry.name in PREDICATES


def test_case_table_of_the_example_is_registered() -> None:
    (table,) = [each for each in TABLES if each.__name__.endswith(".factorial")]
    assert table.ON_ROWS.items() <= ON_ROWS.items()
    assert set(table.SWEEP["int"]) <= set(swept(EXPRESSIONS)["int"])

"""Tests of the mutation tool: what it changes, and that changes reach functions in use."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutants.live import install, live_functions
from tests.mutants.mutations import mutants_of, mutated
from tests.mutants.run import all_mutants, equivalents

SOURCE = '''
"""A module."""
from dataclasses import dataclass

LAST = 20


def rule(x, y, *, can_be_null=False):
    """Text with 1 number."""
    if x is None:
        return None
    low = min(x.lower, y.lower)
    return inner(low + 1, can_be_null=x < LAST) if x and y else f"{x + 1}"


def maker(limit):
    def inner(x):
        return x <= limit

    return inner


def inner(value, can_be_null):
    return value, can_be_null


@dataclass
class Declared:
    place: int = 70
    kinds: frozenset[str] = frozenset()
'''


def _changes(source: str) -> set[str]:
    return {mutant.change for mutant in mutants_of("a.py", source)}


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("def f(x): return x < 5", "`x < 5` -> `x <= 5`"),
        ("def f(x): return x < 5", "`5` -> `6`"),
        ("def f(x): return x < 5", "`5` -> `4`"),
        ("def f(x): return x is None and not x.y", "`not x.y` -> `x.y`"),
        ("def f(x): return x is None and x.y", "`x is None and x.y` -> `x is None or x.y`"),
        ("def f(x): return g(x, can_be_null=~x)", "`can_be_null=~x` -> `can_be_null=False`"),
        ("def f(x): return g(x, proven=x > 1)", "`proven=x > 1` -> `proven=True`"),
        ("def f(x):\n if x.y: return 1", "`if x.y` -> `if x.y and False`"),
        ("def f(x): return x.lower", "`x.lower` -> `x.upper`"),
        ("def f(x): return True", "`True` -> `False`"),
        ("def f(x): return np.minimum(x, 1)", "`np.minimum` -> `np.maximum`"),
        ("def f(x): return a if x else b", "`a if x else b` -> `a`"),
        ("LAST = 20", "`20` -> `21`"),
    ],
)
def test_mutants_include_the_change(source: str, change: str) -> None:
    assert change in _changes(source)


@pytest.mark.parametrize(
    "source",
    [
        'def f(x): raise ValueError("a" + 1)',
        '__all__ = ["a" if True else "b"]',
        "def f(x): return x.lower()",
        "def f(x: int = 1) -> Literal[2]: return x",
        "def f(x): return x[0]",
        "def to_markdown(x): return x + 1",
        "_MOST = 5",
        "def f(x):\n if len(x) > _LONGEST: return None",
        "def f(x): return x < SAFE",
        "def f(x, y): return zip(x, y, strict=True)",
    ],
)
def test_code_that_computes_no_values_has_no_mutants(source: str) -> None:
    assert _changes(source) == set()


def test_every_mutant_compiles_and_differs_from_the_source() -> None:
    plain = compile(SOURCE, "a.py", "exec")
    for mutant in mutants_of("a.py", SOURCE):
        assert compile(mutated(SOURCE, mutant), "a.py", "exec") != plain, mutant


def test_keys_are_unique_and_independent_of_lines() -> None:
    keys = [mutant.key for mutant in mutants_of("a.py", SOURCE)]
    assert len(set(keys)) == len(keys)
    assert keys == [mutant.key for mutant in mutants_of("a.py", "\n\n" + SOURCE)]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = tmp_path / "scratch_of_mutants.py"
    path.write_text(SOURCE, "utf-8")
    scratch = ModuleType("scratch_of_mutants")
    scratch.__file__ = str(path)
    monkeypatch.setitem(sys.modules, scratch.__name__, scratch)
    exec(compile(SOURCE, str(path), "exec"), scratch.__dict__)
    return scratch


def _install(module: ModuleType, change: str) -> None:
    path = str(module.__file__)
    functions = live_functions(path)
    (mutant,) = [each for each in mutants_of("a.py", SOURCE) if each.change == change]
    install(path, module.__name__, mutated(SOURCE, mutant), mutant.function, functions)


def test_change_reaches_existing_functions(module: ModuleType) -> None:
    made, alias = module.maker(3), module.inner
    assert made(3)
    _install(module, "`x <= limit` -> `x < limit`")
    assert not made(3)
    assert not module.maker(3)(3)
    assert alias is module.inner


def test_changed_constant_reaches_the_module(module: ModuleType) -> None:
    _install(module, "`20` -> `21`")
    assert module.LAST == 21


def test_change_of_a_default_reaches_the_class(module: ModuleType) -> None:
    declared = module.Declared
    _install(module, "`70` -> `71`")
    assert declared().place == 71


def test_listed_mutants_exist_and_have_a_reason() -> None:
    listed = equivalents()
    assert set(listed) <= {mutant.key for mutant in all_mutants()}
    assert all(len(reason) > 10 for reason in listed.values())

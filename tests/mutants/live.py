"""Puts a mutant into the running process: every function of the module gets its changed code."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

Key = tuple[str, str, int]
Functions = Mapping[Key, list[FunctionType]]
_PLAIN = (int, float, str, bytes, tuple, type(None))


class CannotMutate(Exception):
    """The change does not fit into the running process."""


def live_functions(folder: str) -> dict[Key, list[FunctionType]]:
    """Every function of the files below a folder: closures, methods and wrapped ones too."""
    found: dict[Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(folder):
            code = each.__code__
            key = (code.co_filename, code.co_qualname, code.co_firstlineno)
            found.setdefault(key, []).append(each)
    return found


def live_caches() -> list[Any]:
    """Everything that functools.cache has wrapped: what it keeps may come from before a change."""
    return [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]


def install(
    path: str,
    module: str,
    tree: ast.Module,
    function: str,
    functions: Functions,
    caches: Sequence[Any] = (),
) -> None:
    """Make the module behave as the changed source says.

    Args:
        path: the file of the module, as its code objects name it.
        module: its name.
        tree: the changed source.
        function: the qualified name of the changed function; empty: the level of the module.
        functions: what `live_functions` found.
        caches: what `live_caches` found.

    Raises:
        CannotMutate: a change of a class body, or of what a function closes over.
    """
    for each in caches:
        each.cache_clear()
    code = compile(tree, path, "exec")
    for key, changed in _codes(code):
        for live in functions.get((path, *key), ()):
            try:
                live.__code__ = changed
            except ValueError as error:
                raise CannotMutate(str(error)) from error
    if not function:
        _again(importlib.import_module(module), code)


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _codes(constant)


def _again(module: ModuleType, code: CodeType) -> None:
    """Run the module once more, and put the values that it defines in the place of the old ones.

    Functions and classes stay the objects that they are; other modules get the values too.
    """
    names: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(code, names)
    replaced = {}
    for name, new in names.items():
        old = module.__dict__.get(name)
        if isinstance(new, type) and isinstance(old, type):
            _put_defaults(old, new)
        if name.startswith("__") or isinstance(new, ModuleType | type) or old is None:
            continue
        if isinstance(new, FunctionType) and new.__qualname__ == name:
            continue
        if getattr(new, "__module__", None) == "typing":
            continue
        replaced[id(old)] = (old, new)
        module.__dict__[name] = new
    for other in [each for key, each in sys.modules.items() if key.startswith("tamis.")]:
        for name, value in list(other.__dict__.items()):
            if id(value) in replaced and type(value) not in (int, bool, str, float, type(None)):
                other.__dict__[name] = replaced[id(value)][1]
            elif (
                # Small numbers are shared objects: only what was imported by its name.
                isinstance(value, int | float)
                and other is not module
                and type(names.get(name)) is type(value)
                and _imports(other, module, name)
            ):
                other.__dict__[name] = names[name]
    _register(names)


def _put_defaults(old: type, new: type) -> None:
    """A class stays the object that it is; what its methods take by default is changed in place."""
    for name, method in vars(new).items():
        live = vars(old).get(name)
        if not isinstance(method, FunctionType) or not isinstance(live, FunctionType):
            continue
        if all(isinstance(each, _PLAIN) for each in method.__defaults__ or ()):
            live.__defaults__ = method.__defaults__


def _imports(other: ModuleType, module: ModuleType, name: str) -> bool:
    text = Path(other.__file__ or "").read_text("utf-8")
    after = text.partition(f"from {module.__name__} import ")[2].partition("\n\n")[0]
    return re.search(rf"\b{name}\b", after) is not None


def _register(names: Mapping[str, Any]) -> None:
    """Rules that a table names go to the registry, as at the start."""
    from tamis.evaluate.interpreter import FUNCTIONS, PREDICATES

    for entry in names.get("ENTRIES", ()):
        if entry.value is not None:
            FUNCTIONS[entry.name] = entry.value
        if entry.predicate is not None:
            PREDICATES[entry.name] = entry.predicate

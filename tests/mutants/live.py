"""Installs a mutant in the running process: the functions of a module get the changed code."""

from __future__ import annotations

import ast
import dataclasses
import functools
import gc
import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tamis.evaluation import interpreter, raising
from tamis.evaluation.functions import registry

Key = tuple[str, str, int]
Functions = Mapping[Key, list[FunctionType]]
_PLAIN = (int, float, str, bytes, tuple, frozenset, type(None))


class CannotMutate(Exception):
    """The change cannot be installed in the running process."""


def live_functions(folder: str) -> dict[Key, list[FunctionType]]:
    """Return every function of the files below a folder, including closures and methods."""
    functions: dict[Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(folder):
            code = each.__code__
            key = (code.co_filename, code.co_qualname, code.co_firstlineno)
            functions.setdefault(key, []).append(each)
    return functions


def live_caches() -> list[Any]:
    """Return every object wrapped by functools.cache. Its entries may predate a change."""
    return [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]


def install(
    path: str,
    module: str,
    tree: ast.Module,
    function: str,
    functions: Functions,
    caches: Sequence[Any] = (),
) -> None:
    """Make the module behave like the changed source.

    Args:
            path: The file of the module, as in its code objects.
            module: The name of the module.
            tree: The changed source.
            function: The qualified name of the changed function; empty for the module level.
            functions: The result of `live_functions`.
            caches: The result of `live_caches`.

    Raises:
            CannotMutate: The change is in a class body or in the closure variables of a function.
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
    makes_functions = any(name.startswith(f"{function}.<locals>.") for (name, _), _ in _codes(code))
    if not function or makes_functions:
        # A maker of rules has run when its module was imported, so it has to run again.
        _again(importlib.import_module(module), code)


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _codes(constant)


def _again(module: ModuleType, code: CodeType) -> None:
    """Run the module once more and replace the values that it defined before.

    Functions and classes keep their identity; modules that imported a value get the new one.
    """
    names: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    if module.__name__ == "tamis.evaluation.nodes.operators":
        for nodes in (interpreter.TRUTHS, interpreter.VALUES):
            nodes.clear()
        for rules in (interpreter.FUNCTIONS, interpreter.PREDICATES):
            rules.clear()
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
                # Small integers are shared objects: replace only names imported from the module.
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
        if all(_is_plain(each) for each in method.__defaults__ or ()):
            live.__defaults__ = method.__defaults__


def _is_plain(default: Any) -> bool:
    # Dataclasses mark fields with a default_factory.
    return isinstance(default, _PLAIN) or default is getattr(
        dataclasses, "_HAS_DEFAULT_FACTORY", dataclasses.MISSING
    )


def _imports(other: ModuleType, module: ModuleType, name: str) -> bool:
    text = Path(other.__file__ or "").read_text("utf-8")
    after = text.partition(f"from {module.__name__} import ")[2].partition("\n\n")[0]
    return re.search(rf"\b{name}\b", after) is not None


def _register(names: Mapping[str, Any]) -> None:
    """Register the rules of a table again, as the import of the module does."""
    entries = names.get("ENTRIES", ())
    if entries:
        known = {each.name: each for each in registry.FUNCTION_ENTRIES}
        known |= {each.name: each for each in entries}
        registry.__dict__["FUNCTION_ENTRIES"] = tuple(known.values())
        never = frozenset(each.name for each in known.values() if each.never_raises)
        raising.__dict__["_NEVER"] = never
    for entry in entries:
        if entry.value is not None:
            interpreter.FUNCTIONS[entry.name] = entry.value
        if entry.predicate is not None:
            interpreter.PREDICATES[entry.name] = entry.predicate

"""Small mistakes that a rule may have, derived from the syntax tree of a module.

Each mutant changes one node: a comparison includes or excludes its edge, a constant is off by one,
a flag is inverted, a mask is removed, AND becomes OR, a guard is removed, or the lower bound
replaces the upper one.

Code that proves nothing is not changed:

- text for users: messages of exceptions, f-strings, and the functions of `_OF_TEXT`;
- limits of effort (`_EFFORT`): how much is examined before the answer is "unknown", and the size of
  blocks. Every limit is sound; benchmarks choose it. Comparisons with such a limit and guards
  that give up beyond it are not changed either;
- checks and hints of Python and numpy (`_HINTS`): `strict=` of zip, `copy=`, `zero_copy_only=`,
  `init=` of dataclass fields;
- whether a margin itself is included (`_MARGINS`): a margin is far from any overflow, so a value at
  the margin is proven either way. Guards that use a margin are removed like others.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
}
#: Pairs of names with opposite meanings.
_NAMES = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "any_of": "all_of",
    "all_of": "any_of",
    "YES": "NO",
    "NO": "YES",
    "can_be_true": "can_be_false",
    "can_be_false": "can_be_true",
}
#: Functions that write documentation, warnings and representations.
_OF_TEXT = {"to_markdown", "_line", "__repr__", "_say_refuted", "_warn"}
#: Constants of a module that limit effort.
_EFFORT = re.compile(
    r"most|_?(MOST|LONGEST|LONG_LIST|FEW|WIDTH|WIDE|ROUNDS|PER_CUT|PER_OCTAVE|BLOCK|SAMPLE|PAYS|MAX_RANGES|WORTH|TRIAL|GATHER|GRACE)[A-Z_]*"
)
#: Keywords that do not affect values.
_HINTS = {"strict", "copy", "zero_copy_only", "init"}
#: Names of margins: distances that stay far from an overflow.
_MARGINS = {"SAFE", "_SAFE", "_LAST_DAY", "_MARGIN", "margin"}
#: Masks: as the value of a keyword they are replaced by these constants.
_MASKS = {
    **dict.fromkeys(("can_be_null", "can_be_nan", "can_be_value", "nulls", "only_null"), False),
    **dict.fromkeys(("proven", "safe", "exact", "tight"), True),
}

Change = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module.

    `function` is the qualified name of the innermost function, empty at the level of the module.
        `place` and `variant` locate the change in the tree of the same source.
    """

    file: str
    function: str
    change: str
    ordinal: int
    line: int
    last_line: int
    place: int
    variant: int

    @property
    def key(self) -> str:
        """The key of the mutant, which does not depend on line numbers."""
        again = f" (#{self.ordinal + 1})" if self.ordinal else ""
        return f"{self.file}: {self.function or 'module'}: {self.change}{again}"


@dataclass(slots=True)
class _Site:
    node: ast.AST
    parent: ast.AST
    name: str
    index: int | None
    function: str
    statement: ast.stmt | ast.expr | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return every mutant of a module, in source order."""
    mutants: list[Mutant] = []
    seen: Counter[tuple[str, str]] = Counter()
    for place, site in enumerate(_sites(ast.parse(source))):
        for variant, change in enumerate(_changes(site)):
            before = _text(site.node)
            changed = change(copy.deepcopy(site.node))
            after = _text(changed)
            text = f"`{before}` -> `{after}`"
            if before == after or site.statement is None:
                continue
            ordinal = seen[site.function, text]
            seen[site.function, text] += 1
            first, last = _lines(site.statement)
            mutants.append(Mutant(file, site.function, text, ordinal, first, last, place, variant))
    return mutants


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of the module with the change; line numbers stay the same."""
    tree = ast.parse(source)
    for place, site in enumerate(_sites(tree)):
        if place == mutant.place:
            changed = list(_changes(site))[mutant.variant](site.node)
            ast.copy_location(changed, site.node)
            site.put(changed)
            return ast.fix_missing_locations(tree)
    raise LookupError(mutant.key)


def _lines(statement: ast.stmt | ast.expr) -> tuple[int, int]:
    """Return the lines of a statement; for a compound statement only its head."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list) and body:
        last = max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, last


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        node = node.test
        return f"if {ast.unparse(node)}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}={ast.unparse(node.value)}"
    return ast.unparse(node)


@dataclass(slots=True)
class _Scope:
    names: tuple[str, ...] = ()
    function: str = ""
    #: The innermost statement, or the line of a table of the module.
    statement: ast.stmt | ast.expr | None = field(default=None)


def _sites(tree: ast.AST) -> Iterator[_Site]:
    yield from _within(tree, _Scope())


def _within(node: ast.AST, scope: _Scope) -> Iterator[_Site]:
    for name, value in ast.iter_fields(node):
        if name in _skipped(node):
            continue
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_skipped(child):
                continue
            inner = scope
            if isinstance(child, ast.stmt) or (not scope.function and _is_line(node, child)):
                inner = _Scope(scope.names, scope.function, child)
            yield _Site(
                child,
                node,
                name,
                index if isinstance(value, list) else None,
                inner.function,
                inner.statement,
            )
            yield from _within(child, _entered(child, inner))


def _is_line(node: ast.AST, child: ast.AST) -> bool:
    """Return whether the node is a line of a table: one of several calls in a tuple."""
    return isinstance(node, ast.Tuple) and isinstance(child, ast.Call)


def _entered(node: ast.AST, scope: _Scope) -> _Scope:
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        own = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        names = (*scope.names, own)
        return _Scope((*names, "<locals>"), ".".join(names), scope.statement)
    if isinstance(node, ast.ClassDef):
        return _Scope((*scope.names, node.name), scope.function, scope.statement)
    return scope


def _skipped(node: ast.AST) -> tuple[str, ...]:
    """Return the fields that do not affect values."""
    if isinstance(node, ast.FunctionDef):
        return ("args", "decorator_list", "returns")
    if isinstance(node, ast.ClassDef):
        return ("decorator_list", "bases", "keywords")
    if isinstance(node, ast.AnnAssign):
        return ("annotation", "target")
    return ("ctx",)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.FunctionDef) and node.name in _OF_TEXT:
        return True
    if isinstance(node, ast.keyword) and node.arg in _HINTS:
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        return any(name == "__all__" or _EFFORT.fullmatch(name) for name in names)
    # Type aliases such as Callable[[Any], …].
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _changes(site: _Site) -> Iterator[Change]:
    node = site.node
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                if type(op) in _COMPARISONS and not (_is_order(op) and _has_room(node)):
                    yield _compare_changed(index)
        case ast.BoolOp():
            yield _bool_changed
        case ast.BinOp(op=op) if (
            type(op) in _OPERATORS and not _is_type(node) and not _is_effort(node)
        ):
            yield _operator_changed
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield lambda node: node.operand  # type: ignore[attr-defined]
        case ast.Constant(value=bool()):
            yield lambda node: ast.Constant(not node.value)  # type: ignore[attr-defined]
        case ast.Constant(value=int()) if not (_is_index(site) or _is_effort(site.parent)):
            yield lambda node: ast.Constant(node.value + 1)  # type: ignore[attr-defined]
            if node.value != 0:
                yield lambda node: ast.Constant(node.value - 1)  # type: ignore[attr-defined]
        case ast.If(test=test) if site.function and not _is_effort(test):
            yield _dropped
        case ast.IfExp():
            yield lambda node: node.body  # type: ignore[attr-defined]
            yield lambda node: node.orelse  # type: ignore[attr-defined]
        case ast.Name(id=name) if name in _NAMES:
            yield lambda node: ast.Name(_NAMES[node.id], node.ctx)  # type: ignore[attr-defined]
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _NAMES:
            yield _attribute_changed
        case ast.Attribute(attr="lower" | "upper", ctx=ast.Load()) if not _is_called(site):
            yield _edge_changed
        case ast.keyword(arg=name, value=value) if name in _MASKS and not isinstance(
            value, ast.Constant
        ):
            yield lambda node: ast.keyword(node.arg, ast.Constant(_MASKS[node.arg]))  # type: ignore[attr-defined]


def _is_order(op: ast.cmpop) -> bool:
    return isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _has_room(node: ast.AST) -> bool:
    """Return whether a margin or a limit of effort is compared: off by one is equally correct."""
    return bool(_names(node) & _MARGINS) or _is_effort(node)


def _is_effort(node: ast.AST) -> bool:
    return any(map(_EFFORT.fullmatch, _names(node)))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _compare_changed(index: int) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        ops = list(node.ops)
        ops[index] = _COMPARISONS[type(ops[index])]()
        return ast.Compare(node.left, ops, node.comparators)

    return change


def _bool_changed(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _operator_changed(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BinOp)
    return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)


def _dropped(node: ast.AST) -> ast.AST:
    """Drop a guard. Its test is still evaluated because it may assign names."""
    assert isinstance(node, ast.If)
    test = ast.BoolOp(ast.And(), [node.test, ast.Constant(False)])
    return ast.If(test, node.body, node.orelse)


def _attribute_changed(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Attribute)
    return ast.Attribute(node.value, _NAMES[node.attr], node.ctx)


def _edge_changed(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Attribute)
    return ast.Attribute(node.value, "upper" if node.attr == "lower" else "lower", node.ctx)


def _is_called(site: _Site) -> bool:
    """Return whether the name is called, as in text.lower()."""
    return isinstance(site.parent, ast.Call) and site.name == "func"


def _is_index(site: _Site) -> bool:
    """Return whether it is an index, as in parts[0]. Another index is not an edge error."""
    return isinstance(site.parent, ast.Subscript) and site.name == "slice"


def _is_type(node: ast.BinOp) -> bool:
    """Return whether | joins types, as in isinstance(x, int | str), or names of classes."""
    return any(
        isinstance(side, ast.Constant) and (side.value is None or isinstance(side.value, str))
        for side in (node.left, node.right)
    )

"""Derivation trees of SQL text, and the smaller trees that shrinking tries.

A statement is generated as a tree instead of text, so that a part of it can be removed without
parsing SQL. A reduction may produce a statement that does not pass analysis or does not show the
difference. The shrinker therefore runs each statement and keeps it only if it still differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of SQL.

    Attributes:
        sort: What may replace it: "query", "rel", "pred", or a family of types.
        parts: Text and subtrees, in the order of the text.
        simpler: Texts that may replace the whole node.
    """

    sort: str
    parts: tuple[Tree | str, ...]
    simpler: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Items:
    """A list or an optional clause: elements may be removed down to `least` of them."""

    prefix: str
    separator: str
    items: tuple[Tree, ...]
    least: int = 0
    suffix: str = ""

    def __str__(self) -> str:
        if not self.items:
            return ""
        return self.prefix + self.separator.join(map(str, self.items)) + self.suffix


Tree = Node | Items


def node(sort: str, *parts: Tree | str, simpler: tuple[str, ...] = ()) -> Node:
    """Return a node of these parts."""
    return Node(sort, parts, simpler)


def optional(text: str) -> Items:
    """Return a clause that shrinking may remove."""
    return Items("", "", (Node("clause", (text,)),))


def size(tree: Tree) -> int:
    """Return the amount of SQL in a tree. Every reduction makes it smaller."""
    return len(str(tree))


def smaller(tree: Tree) -> Iterator[Tree]:
    """Yield trees with one reduction applied, largest reductions first."""
    reductions = list(_reductions(tree, lambda changed: changed))
    total = size(tree)
    yield from sorted((each for each in reductions if size(each) < total), key=size)


def _reductions(tree: Tree, rebuild: Callable[[Tree], Tree]) -> Iterator[Tree]:
    if isinstance(tree, Items):
        yield from map(rebuild, _shorter(tree))
    else:
        yield from map(rebuild, _replacements(tree))
    for place, below in enumerate(_below(tree)):
        if not isinstance(below, str):
            inside = partial(_with_below, tree, place)
            yield from _reductions(below, partial(_chained, inside, rebuild))


def _chained(inner: Callable[[Tree], Tree], outer: Callable[[Tree], Tree], changed: Tree) -> Tree:
    return outer(inner(changed))


def _below(tree: Tree) -> tuple[Tree | str, ...]:
    return tree.items if isinstance(tree, Items) else tree.parts


def _with_below(tree: Tree, place: int, changed: Tree) -> Tree:
    """Return the tree with another part at this position."""
    if isinstance(tree, Items):
        return replace(tree, items=(*tree.items[:place], changed, *tree.items[place + 1 :]))
    return replace(tree, parts=(*tree.parts[:place], changed, *tree.parts[place + 1 :]))


def _replacements(tree: Node) -> Iterator[Tree]:
    """Yield the possible replacements of the node."""
    for text in tree.simpler:
        yield Node(tree.sort, (text,))
    if tree.sort == "pred":
        yield Node("pred", ("TRUE",))
        if len(tree.parts) == 1 and isinstance(tree.parts[0], str):
            for text in operands(tree.parts[0]):
                yield Node("pred", (text,))
    for below in _descendants(tree):
        if below.sort == tree.sort:
            yield below


def _shorter(items: Items) -> Iterator[Items]:
    count = len(items.items)
    if count > items.least and items.least == 0:
        yield replace(items, items=())
    half = count // 2
    if half > 1 and half >= items.least:
        yield replace(items, items=items.items[:half])
        yield replace(items, items=items.items[half:])
    if count > max(items.least, 1):
        for place in range(count):
            yield replace(items, items=items.items[:place] + items.items[place + 1 :])


def _descendants(tree: Tree) -> Iterator[Node]:
    for part in _below(tree):
        if isinstance(part, Node):
            yield part
        if not isinstance(part, str):
            yield from _descendants(part)


def operands(text: str) -> list[str]:
    """Return the operands of AND, OR and NOT at the top of a predicate in text form."""
    text = text.strip()
    if text.startswith("NOT (") and _closing(text, 4) == len(text) - 1:
        return [text[5:-1]]
    while text.startswith("(") and _closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    parts, start, place, between = [], 0, 0, False
    while place < len(text):
        if text[place] in "'`":
            place = _end_of_quoted(text, place)
        elif text[place] == "(":
            place = _closing(text, place)
        elif text[place : place + 9].upper() == " BETWEEN ":
            between = True
        else:
            for word in (" AND ", " OR "):
                if text[place : place + len(word)] == word:
                    if word == " AND " and between:
                        between = False
                    else:
                        parts.append(text[start:place])
                        start = place + len(word)
        place += 1
    return [*parts, text[start:]] if parts else []


def _end_of_quoted(text: str, start: int) -> int:
    quote, place = text[start], start + 1
    while place < len(text) and text[place] != quote:
        place += 2 if text[place] == "\\" and quote == "'" else 1
    return place


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis at `start` closes; the end of the text if it does not."""
    depth, place = 0, start
    while place < len(text):
        if text[place] in "'`":
            place = _end_of_quoted(text, place)
        elif text[place] == "(":
            depth += 1
        elif text[place] == ")":
            depth -= 1
            if depth == 0:
                return place
        place += 1
    return len(text)

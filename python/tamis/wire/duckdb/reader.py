"""Read a document as expressions. Nodes that are not understood become Opaque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tamis.expr.nodes import Expr, Literal, Opaque
from tamis.expr.types import BOOLEAN
from tamis.wire.duckdb.column_references import Columns
from tamis.wire.duckdb.comparisons import Constant, Operand
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.document import NotUnderstood, children, mapping, parse, require
from tamis.wire.duckdb.node import kind_of
from tamis.wire.duckdb.opaque_nodes import opaque
from tamis.wire.duckdb.operands import OPERANDS
from tamis.wire.duckdb.predicates import PREDICATES
from tamis.wire.duckdb.types import LogicalType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_duckdb"]

#: Deeper nodes are cut off, because evaluation recurses with about ten calls per level and Python
#: allows 1,000.
_MAX_DEPTH: Final = 40

_BOOLEAN: Final = LogicalType("BOOLEAN")
_UNKNOWN: Final = Opaque("<not understood>")


def from_duckdb(document: dict[str, Any] | str, schema: pa.Schema | None = None) -> list[Expr]:
    """Read a filter document of DuckDB's Airport extension.

    Verdicts on the expressions hold for the filters as DuckDB evaluates them. A node that means
    something else in Spark, or is not understood, becomes Opaque and proves nothing. Never raises:
    anything that is not a document becomes one Opaque.

    Args:
        document: The document, or its text. The text may contain bare NaN and Infinity.
        schema: The schema of the files. It provides types of columns that have none in the
            document, and the spelling of their names. A column whose type in the document
            contradicts the schema proves nothing. Without a schema, UUIDs are not understood,
            because files store them as bytes or as text.

    Returns:
        One expression per filter. A row passes if all of them are true.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.wire.duckdb.document import EXAMPLE
    >>> [to_sql(each) for each in from_duckdb(EXAMPLE)]
    ["title = 'Y Combinator'", 'score > 500.0F']
    """
    try:
        parsed = mapping(parse(document) if isinstance(document, str | bytes) else document)
        filters = children(parsed.get("filters"))
        names = children(parsed.get("column_binding_names_by_index", []))
        reader = _DocumentReader(Columns(names, _schema_types(schema)))
    except Exception:  # not a document, so nothing is known about the rows that pass
        return [_UNKNOWN]
    return [_conjunct(each, reader) for each in filters]


def _schema_types(schema: pa.Schema | None) -> dict[str, LogicalType] | None:
    if schema is None:
        return None
    from tamis.wire.duckdb.arrow_types import schema_types  # only this needs pyarrow

    return schema_types(schema)


def _conjunct(node: object, reader: _DocumentReader) -> Expr:
    try:
        return reader.predicate(node, 0)
    except Exception:  # whatever the document contains, keeping every row is correct
        return _UNKNOWN


@dataclass(frozen=True, slots=True)
class _DocumentReader:
    """The implementation of node.Reader."""

    columns: Columns

    def predicate(self, node: object, depth: int) -> Expr:
        try:
            return self._predicate(node, depth)
        except (ValueError, ArithmeticError):  # NotUnderstood, or a value outside its type
            return opaque(node, self.columns)

    def _predicate(self, node: object, depth: int) -> Expr:
        require(depth < _MAX_DEPTH)
        document = mapping(node)
        rule = PREDICATES.get(kind_of(document))
        if rule is not None:
            return rule(self, document, depth)
        return _truth(self.operand(document, depth))

    def operand(self, node: object, depth: int) -> Operand:
        require(depth < _MAX_DEPTH)
        document = mapping(node)
        kind = kind_of(document)
        if kind in OPERANDS:
            return OPERANDS[kind](self, document, depth)
        if kind in PREDICATES:
            return Term(PREDICATES[kind](self, document, depth), _BOOLEAN, _BOOLEAN)
        raise NotUnderstood


def _truth(operand: Operand) -> Expr:
    """Return a boolean value as a predicate."""
    match operand:
        case Term(expr=expr, type=data_type) if data_type == _BOOLEAN:
            return expr
        case Constant(value=bool(value)):
            return Literal(value, BOOLEAN)
        case Constant(value=None, type=LogicalType(id="BOOLEAN" | "NULL")):
            return Literal(None, BOOLEAN)
    raise NotUnderstood

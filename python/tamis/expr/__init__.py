"""Expressions: nodes, types, SQL text, and equivalence-preserving rewrites."""

from tamis.expr.nodes import Expr

__all__ = ["Expr"]

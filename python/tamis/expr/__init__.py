"""Expressions: nodes, types, their SQL text, and rewrites that keep their meaning."""

from tamis.expr.nodes import Expr

__all__ = ["Expr"]

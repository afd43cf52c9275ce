"""Saying what was decided, and why."""

from tamis.report.explanation import Explanation, explain, why_not

__all__ = ["Explanation", "explain", "why_not"]

"""Reports what was decided, and why."""

from tamis.report.explanation import Explanation, explain, why_not
from tamis.report.what_if import WhatIf, what_if

__all__ = ["Explanation", "WhatIf", "explain", "what_if", "why_not"]

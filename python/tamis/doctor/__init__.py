"""Looks at an installation, and says of every part whether it works and what to do if not."""

from tamis.doctor.checks import examine
from tamis.doctor.finding import Finding, Status

__all__ = ["Finding", "Status", "examine"]

"""Checks every part of an installation, and says how to fix what does not work."""

from tamis.doctor.checks import examine
from tamis.doctor.finding import Finding, Status

__all__ = ["Finding", "Status", "examine"]

"""Keeps an index current, and records in it what the queries of the history lacked."""

from tamis.maintenance.planning import maintain
from tamis.maintenance.steps import Maintenance, Step

__all__ = ["Maintenance", "Step", "maintain"]

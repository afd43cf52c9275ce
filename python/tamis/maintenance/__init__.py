"""Keeps an index up to date, and records the statistics that past queries lacked."""

from tamis.maintenance.planning import maintain
from tamis.maintenance.steps import Maintenance, Step

__all__ = ["Maintenance", "Step", "maintain"]

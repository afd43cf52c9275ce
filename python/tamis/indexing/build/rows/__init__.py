"""The statistics that Spark jobs compute from rows."""

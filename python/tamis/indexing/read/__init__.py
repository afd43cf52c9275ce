"""Reading of an index by the planner: columns, row groups, caches and freshness."""

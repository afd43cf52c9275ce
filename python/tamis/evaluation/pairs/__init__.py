"""Two values of one row: comparisons and differences, decided by recorded differences."""

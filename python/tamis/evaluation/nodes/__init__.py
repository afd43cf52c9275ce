"""Rules for the nodes of expressions: columns, literals, logic, comparisons, membership."""

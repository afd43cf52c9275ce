"""Details for explanations: effects of conjuncts, evidence for files, fixes with table names."""

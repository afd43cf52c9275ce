"""Details for explanations: effects, reasons and kinds of statistics of each conjunct."""

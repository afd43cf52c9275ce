"""From the conjuncts of a scan to the files it needs."""

"""What a query needs besides its filters: LIMIT, top-k, and aggregates."""

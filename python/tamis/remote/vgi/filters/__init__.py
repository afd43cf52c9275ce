"""The filters that a worker gets."""

"""The abstract domain: bounds, truth sets and flags of containers, and operations on them."""

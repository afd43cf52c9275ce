"""Rules for functions, by family. Each family owns its entries in the registry."""

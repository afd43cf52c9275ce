"""ORDER BY with LIMIT under filters: files that are opened, and time, with tamis off and on."""

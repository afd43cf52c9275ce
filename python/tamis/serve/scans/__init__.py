"""What all answers about a scan share: its filters and files, implied ranges, deep expressions."""

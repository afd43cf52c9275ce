"""What planning costs, by the number of files."""

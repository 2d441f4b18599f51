"""Numbers: scales, rank, rounding, and the one search."""

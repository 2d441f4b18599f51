"""Numbers judged: scales, ranks, what is rounding, the tolerances that all rooms share, and the one
search."""

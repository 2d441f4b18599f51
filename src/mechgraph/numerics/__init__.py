"""Numbers judged: the tolerances that all rooms share, ranks, scales, and the one search."""

"""Numbers judged: scales, ranks, what is rounding, and the tolerances that all rooms share."""

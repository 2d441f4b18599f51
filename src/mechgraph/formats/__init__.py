"""Other forms of a model: C code."""

"""Linear models about a state, on the constraints."""

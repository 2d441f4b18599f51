"""Controllers: laws for the inputs of equations."""

"""The contract: the terms of the equations of motion as expressions, and the same on arrays."""

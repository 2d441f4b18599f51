"""From expression graphs to functions on NumPy arrays, with batches as leading axes; they know
arrays, not mechanics."""

from .kernel import Kernel

__all__ = ["Kernel"]

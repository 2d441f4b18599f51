"""Expression graph → callable. One interface for every tier: NumPy arrays in and out, batches by
leading axes."""

from .kernel import Kernel

__all__ = ["Kernel"]

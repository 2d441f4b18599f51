"""Composition: the equations of a system from the known equations of its parts."""

"""Rigid contacts in a simulation: points, impacts, modes."""

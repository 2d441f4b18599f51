"""Quantities of robotics, and inverse kinematics."""

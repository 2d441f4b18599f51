"""How far two results are apart, in numbers without units.

With D = diag(√M_kk) every speed, force and acceleration is measured in the metric of the kinetic energy, so that metres
and radians, light and heavy bodies count alike.
"""

from __future__ import annotations

import numpy as np


def scales(M: np.ndarray) -> np.ndarray:
    """√M_kk; one where a speed moves nothing (a chain that carries its coordinates in a loop)."""
    diagonal = np.diagonal(M, axis1=-2, axis2=-1)
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def mass_gap(M: np.ndarray, other: np.ndarray) -> float:
    """Largest |ΔM_jk| / √(M_jj M_kk)."""
    d = scales(M)
    return float(np.abs((M - other) / np.outer(d, d)).max(initial=0))


def force_gap(M: np.ndarray, f: np.ndarray, other: np.ndarray, u: np.ndarray) -> float:
    """|D⁻¹ Δf| / (|D⁻¹ f| + |D u| per second)."""
    d = scales(M)
    return _ratio((f - other) / d, f / d, d * u)


def acceleration_gap(M: np.ndarray, udot: np.ndarray, other: np.ndarray, u: np.ndarray) -> float:
    """|D Δu̇| / (|D u̇| + |D u| per second)."""
    d = scales(M)
    return _ratio((udot - other) * d, udot * d, d * u)


def gap(a: np.ndarray, b: np.ndarray, floor: float = 0.0) -> float:
    """|a − b| / (|a| + floor)."""
    return float(np.linalg.norm(a - b) / (np.linalg.norm(a) + floor or 1.0))


def _ratio(difference: np.ndarray, *sizes: np.ndarray) -> float:
    size = sum(float(np.linalg.norm(s)) for s in sizes)
    return float(np.linalg.norm(difference)) / (size or 1.0)

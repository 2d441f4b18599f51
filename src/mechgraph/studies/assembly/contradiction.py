"""What cannot be met, and the way out."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import AssemblyError

SHOWN = 8
FEWER = (
    "Name fewer values in the start, and the others in guess={…}, which is met as nearly as the "
    "constraints allow"
)
CLOSER = "Give guess={…} near a configuration that closes, or change the geometry"
BY_NAME = "assemble(guess=dict(zip(eqs.coordinates, q))) finds the nearest that does not"


def contradiction(
    residuals: Mapping[str, float], limit: float, what: str, cure: str
) -> AssemblyError:
    """An error with the rows that are left, the worst first."""
    left = {name: float(value) for name, value in residuals.items() if not abs(value) <= limit}
    worst = sorted(left, key=lambda name: -abs(left[name]))[:SHOWN]
    listed = ", ".join(f"{name} ({left[name]:+.3g})" for name in worst)
    return AssemblyError(f"{what}; not satisfied: {listed}. {cure}", left)

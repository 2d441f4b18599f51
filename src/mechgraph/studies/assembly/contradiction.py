"""What cannot be met, and the way out."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import AssemblyError

SHOWN = 8


def contradiction(
    residuals: Mapping[str, float], limit: float, what: str, start: bool
) -> AssemblyError:
    """An error with the rows that are left, the worst first; ``start`` if anything was named."""
    left = {name: float(value) for name, value in residuals.items() if not abs(value) <= limit}
    worst = sorted(left, key=lambda name: -abs(left[name]))[:SHOWN]
    listed = ", ".join(f"{name} ({left[name]:+.3g})" for name in worst)
    fewer = (
        "Name fewer values in the start and give the others in guess={…}, which is met as nearly "
        "as the constraints allow; or change the values"
    )
    closer = "Give guess={…} near a configuration that closes, or change the geometry"
    return AssemblyError(f"{what}; not satisfied: {listed}. {fewer if start else closer}", left)

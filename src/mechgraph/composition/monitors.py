"""Norms of what every motion of a composition should leave zero, as outputs of a run."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
from casadi import SX

from ..motion.levels import Levels

MONITORS = ("‖q̄0‖", "‖q̄1‖", "‖q̄2‖", "‖f̄‖", "‖q̄2, f̄‖")


def monitors(levels: Levels, udot: SX, forces: Callable[[], SX]) -> dict[str, Callable[[], SX]]:
    """Norms of the rows at each order, of the projected ``forces``, and of the last two."""

    def rows() -> SX:
        return levels.A @ udot + levels.b

    found: tuple[Callable[[], SX], ...] = (
        lambda: levels.phi,
        lambda: levels.psi,
        rows,
        forces,
        lambda: ca.vertcat(rows(), forces()),
    )
    return {name: _norm(value) for name, value in zip(MONITORS, found, strict=True)}


def _norm(value: Callable[[], SX]) -> Callable[[], SX]:
    return lambda: ca.sqrt(ca.sumsqr(value())) if value().numel() else SX(0)

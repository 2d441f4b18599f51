"""Inverse dynamics: the efforts along the speeds that a motion needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError
from ..formalisms import DEFAULT
from ..results import Trajectory


def inverse_dynamics(
    equations: Equations, motion: Any, u: Any = None, udot: Any = None, t: Any = 0.0, inputs: Any = None, parameters: Any = None
) -> np.ndarray:
    """τ with M u̇ = f + τ: recursive Newton–Euler where the formalism has it.

    ``motion`` is a ``Trajectory`` or the coordinates q, with u and u̇ beside it; batches by leading axes.
    """
    if equations.kinematics is not equations.tree:
        raise UnsupportedError(
            f"inverse dynamics gives efforts along the speeds of joints, which {equations.formalism} does not have; "
            f"use a formalism in joint coordinates, such as {DEFAULT}"
        )
    if equations.constraints:
        raise UnsupportedError(
            "inverse dynamics is for trees: with constraints the efforts are not unique. Add servo constraints for the "
            "motion that is wanted; their multipliers are the efforts of the drives"
        )
    if isinstance(motion, Trajectory):
        return equations.efforts(motion.q, motion.u, motion.udot, motion.time, motion.w, dict(motion.parameters))
    if u is None or udot is None:
        raise ArgumentError("inverse_dynamics needs a Trajectory, or q, u and udot")
    return equations.efforts(motion, u, udot, t, inputs, parameters)

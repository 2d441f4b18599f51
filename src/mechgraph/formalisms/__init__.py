"""The formalisms: one module, one function ``derive(kinematics, **options) -> Dynamics`` each,
listed here."""

from __future__ import annotations

from collections.abc import Callable

from . import absolute, appell, kane, lagrange, newton_euler
from .dynamics import Dynamics

FORMALISMS: dict[str, Callable[..., Dynamics]] = {
    "newton-euler": newton_euler.derive,
    "appell": appell.derive,
    "lagrange": lagrange.derive,
    "kane": kane.derive,
    "absolute": absolute.derive,
}

COORDINATES = {
    "absolute": "absolute"
}  # those of a formalism that has coordinates of its own; all others share the joints'

DEFAULT = "newton-euler"


def coordinates_of(formalism: str) -> str:
    """Which coordinates a formalism works in: in the same ones M and f can be compared, else only
    what bodies and joints do."""
    return COORDINATES.get(formalism, "joint")


__all__ = ["COORDINATES", "DEFAULT", "FORMALISMS", "Dynamics", "coordinates_of"]

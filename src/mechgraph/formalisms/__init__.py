"""The formalisms: one module, one function ``derive(kinematics, **options) -> Dynamics`` each, listed here."""

from __future__ import annotations

from collections.abc import Callable

from . import appell, kane, lagrange, newton_euler
from .dynamics import Dynamics

FORMALISMS: dict[str, Callable[..., Dynamics]] = {
    "newton-euler": newton_euler.derive,
    "appell": appell.derive,
    "lagrange": lagrange.derive,
    "kane": kane.derive,
}

DEFAULT = "newton-euler"

__all__ = ["DEFAULT", "FORMALISMS", "Dynamics"]

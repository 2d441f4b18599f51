"""Units of measure: what they are in those of SI, and of which base units these are made."""

from __future__ import annotations

import math

UNITS: dict[str, float] = {
    "m": 1.0, "km": 1e3, "dm": 0.1, "cm": 0.01, "mm": 1e-3, "um": 1e-6, "inch": 0.0254,
    "ft": 0.3048,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0, "Hz": 1.0, "kHz": 1e3,
    "rad": 1.0, "deg": math.pi / 180, "rev": 2 * math.pi, "rpm": math.pi / 30,
    "kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237,
    "N": 1.0, "kN": 1e3, "MN": 1e6, "mN": 1e-3, "lbf": 4.4482216152605, "kp": 9.80665,
    "Nm": 1.0, "Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "bar": 1e5,
    "J": 1.0, "kJ": 1e3, "W": 1.0, "kW": 1e3, "hp": 745.69987158227022, "kmh": 1 / 3.6,
    "V": 1.0, "A": 1.0, "mA": 1e-3, "Ohm": 1.0, "H": 1.0, "mH": 1e-3, "F": 1.0, "C": 1.0,
}  # fmt: skip

# exponents of the base units
BASE_UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1},
    "m": {"m": 1},
    "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1},
    "rad/s": {"rad": 1, "s": -1},
    "1/s": {"s": -1},
    "m/s²": {"m": 1, "s": -2},
    "rad/s²": {"rad": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
}

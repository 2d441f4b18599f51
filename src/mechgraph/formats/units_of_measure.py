"""Units of measure: what they are in those of SI, and of which base units these are made."""

from __future__ import annotations

import math

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
# units by what they measure, in its unit of SI
MEASURES: dict[str, dict[str, float]] = {
    "m": {"m": 1.0, "km": 1e3, "dm": 0.1, "cm": 0.01, "mm": 1e-3, "um": 1e-6,
          "inch": 0.0254, "ft": 0.3048},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0},
    "1/s": {"Hz": 1.0, "kHz": 1e3},
    "rad": {"rad": 1.0, "deg": math.pi / 180, "rev": 2 * math.pi},
    "rad/s": {"rpm": math.pi / 30},
    "kg": {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237},
    "N": {"N": 1.0, "kN": 1e3, "MN": 1e6, "mN": 1e-3, "lbf": 4.4482216152605, "kp": 9.80665},
    "N m": {"Nm": 1.0},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "bar": 1e5},
    "J": {"J": 1.0, "kJ": 1e3},
    "W": {"W": 1.0, "kW": 1e3, "hp": 745.69987158227022},
    "m/s": {"kmh": 1 / 3.6},
    "V": {"V": 1.0},
    "A": {"A": 1.0, "mA": 1e-3},
    "Ohm": {"Ohm": 1.0}, "H": {"H": 1.0, "mH": 1e-3}, "F": {"F": 1.0}, "C": {"C": 1.0},
}  # fmt: skip
UNITS = {unit: factor for units in MEASURES.values() for unit, factor in units.items()}
_MEASURED = {unit: measure for measure, units in MEASURES.items() for unit in units}
_SPELLINGS = {"²": "^2", "N m": "Nm", "N·m": "Nm", "N*m": "Nm", "°": "deg"}


def measured(unit: str) -> tuple[float, dict[str, int]] | None:
    """A unit such as deg/s^2 in those of SI, and its exponents of the base units; None if it is not
    known."""
    factor, exponents = 1.0, dict[str, int]()
    for k, part in enumerate(respelled(unit).split("/")):
        name, _, power = part.partition("^")
        if name not in {"1", *UNITS} or not (power or "1").isdigit():
            return None
        count = int(power or 1) * (-1 if k else 1)
        factor *= UNITS.get(name, 1.0) ** count
        measure = _MEASURED.get(name, "1")
        for base, exponent in BASE_UNITS.get(measure, {measure: 1}).items():
            exponents[base] = exponents.get(base, 0) + exponent * count
    return factor, {base: n for base, n in exponents.items() if n and base != "1"}


def respelled(unit: str) -> str:
    """A unit as it is spelled here."""
    for other, ours in _SPELLINGS.items():
        unit = unit.replace(other, ours)
    return unit.strip()

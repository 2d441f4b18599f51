"""Linear models for people: eigenvalues against a parameter, responses, and tables of modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..errors import ArgumentError
from ..numerics.tolerances import GIVEN
from ..results.linear_model import LinearModel
from ..results.response import FrequencyResponse, TimeResponse
from ..results.second_order import SecondOrderModel, SecondOrderSweep
from .palette import LINES, MUTED, color
from .plot import Panel, save, stacked

WRAP = 200.0  # a step of a phase in degrees that is a turn of 360


# --- against a parameter --------------------------------------------------------------------------


def eigenvalues(
    sweep: SecondOrderSweep,
    path: str | Path | None = None,
    beside: Sequence[SecondOrderSweep] = (),
) -> Figure:
    """Real part and frequency of every mode over the parameter; where it is stable is shaded."""

    def panels(of: SecondOrderSweep) -> list[Panel]:
        values = of.eigenvalues
        swinging = np.where(_complex(values), np.abs(values.imag) / (2 * np.pi), np.nan)
        return [
            Panel("growth, real part of the eigenvalue (1/s)", _named(of, values.real)),
            Panel("frequency, imaginary part / 2π (Hz)", _named(of, swinging)),
        ]

    return save(_against(sweep, panels, beside), path)


def ratio(
    sweep: SecondOrderSweep,
    above: str,
    below: str,
    path: str | Path | None = None,
    beside: Sequence[SecondOrderSweep] = (),
) -> Figure:
    """Modulus and phase of one coordinate over another in every mode; of a pair that of the mode
    with the positive frequency."""

    def panels(of: SecondOrderSweep) -> list[Panel]:
        values = of.eigenvalues
        paired = _complex(values)
        found = np.where(paired & (values.imag < 0), np.nan, of.ratio(above, below))
        phase = np.degrees(np.where(paired, np.angle(found), np.abs(np.angle(found))))
        wraps = np.abs(np.diff(phase, axis=0, prepend=phase[:1])) > WRAP
        what = f"{above} over {below}"
        return [
            Panel(f"modulus of {what}", _named(of, np.abs(found)), logarithmic=True),
            Panel(f"phase of {what} (degrees)", _named(of, np.where(wraps, np.nan, phase))),
        ]

    figure = _against(sweep, panels, beside)
    figure.axes[1].set_yticks([-180, -90, 0, 90, 180])
    figure.axes[1].set_ylim(-190, 190)
    return save(figure, path)


def _against(
    sweep: SecondOrderSweep,
    panels: Callable[[SecondOrderSweep], list[Panel]],
    beside: Sequence[SecondOrderSweep],
) -> Figure:
    """Panels of a sweep over its parameter, and thin lines of others beside it."""
    figure = stacked(panels(sweep), sweep.values, sweep.parameter, "")
    labels = list(dict.fromkeys(sweep.names))
    for other in beside:
        for axes, panel in zip(figure.axes, panels(other), strict=True):
            for label, values in panel.curves:
                shade = color(labels.index(label) if label in labels else len(labels))
                axes.plot(other.values, values, color=shade, lw=0.7, alpha=0.5, zorder=1)
    return _shaded(sweep, figure)


def _complex(values: np.ndarray) -> np.ndarray:
    """True for eigenvalues that swing: with an imaginary part beside the largest of the model."""
    size = np.where(np.isfinite(values), np.abs(values), 0.0)
    return np.asarray(np.abs(values.imag) > GIVEN * size.max(axis=-1, keepdims=True, initial=0.0))


def _named(sweep: SecondOrderSweep, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return list(zip(sweep.names, values.T, strict=True))


def _shaded(sweep: SecondOrderSweep, figure: Figure) -> Figure:
    """The ranges without a mode that grows."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], sweep.stable, [0]])))
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        a, b = sweep.values[first], sweep.values[last]
        for axes in figure.axes:
            axes.axvspan(a, b, color=LINES, alpha=0.7, lw=0, zorder=0)
        figure.axes[0].annotate(
            "stable", ((a + b) / 2, 1), (0, -10), ("data", "axes fraction"), "offset points",
            color=MUTED, fontsize=8, ha="center",
        )  # fmt: skip
    return figure


def eigenvalue_table(sweep: SecondOrderSweep) -> str:
    """A line for each value, a column for each mode; a pair is written once."""
    width = max(len(sweep.parameter), 8)
    lines = [f"{sweep.parameter:>{width}}  " + "".join(f"{name:>20}" for name in sweep.names)]
    for value, row in zip(sweep.values, sweep.eigenvalues, strict=True):
        lines.append(f"{value:{width}.6g}  " + "".join(f"{each:>20}" for each in _numbers(row)))
    return "\n".join(lines)


def _numbers(values: np.ndarray) -> list[str]:
    real = np.round(values.real, 5) + 0.0  # no −0
    imaginary = np.where(_complex(values), values.imag, 0.0)
    return [f"{a:.5f}{b:+.5f}i" if b else f"{a:.5f}" for a, b in zip(real, imaginary, strict=True)]


# --- responses ------------------------------------------------------------------------------------


def time_response(
    response: TimeResponse, names: Sequence[str] = (), path: str | Path | None = None
) -> Figure:
    """Deviations over time."""
    panel = Panel("deviation", [(name, response[name]) for name in names or response.names])
    return save(stacked([panel], response.time, "time (s)", ""), path)


def frequency_response(
    response: FrequencyResponse,
    names: Sequence[str] = (),
    by: str | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Modulus and phase over the frequency, which is drawn logarithmically."""
    if by is None and not response.inputs:
        raise ArgumentError("there is no input, so nothing to respond to")
    source = response.inputs[0] if by is None else by
    found = {name: response[name, source] for name in names or response.names}
    panels = [
        Panel(f"modulus, for a unit {source}", _each(found, np.abs), logarithmic=True),
        Panel("phase (degrees)", _each(found, lambda x: np.degrees(np.unwrap(np.angle(x))))),
    ]
    figure = stacked(panels, response.omega, "frequency ω (rad/s)", "")
    figure.axes[1].set_xscale("log")
    return save(figure, path)


def _each(found: dict[str, np.ndarray], of: Any) -> list[tuple[str, np.ndarray]]:
    return [(name, of(values)) for name, values in found.items()]


# --- modes ----------------------------------------------------------------------------------------


def mode_table(model: SecondOrderModel | LinearModel, names: Sequence[str]) -> str:
    """Eigenvalue, frequency, damping, and modulus ∠ phase of the named variations in each mode, the
    largest of them as one; a pair is written once."""
    values, vectors = model.modes()
    rows = [model.variations.index(name) for name in names]
    width = max([18, *(len(name) + 2 for name in names)])
    head = f"{'eigenvalue (1/s)':>20}{'Hz':>10}{'damping':>10}"
    lines = [head + "".join(f"{name:>{width}}" for name in names)]
    for value, number, vector in zip(values, _numbers(values), vectors.T, strict=True):
        if value.imag >= 0 or not number.endswith("i"):
            shape = vector[rows] / vector[rows][np.abs(vector[rows]).argmax()]
            damping = round(-value.real / abs(value), 4) + 0.0 if value else 0.0
            lines.append(
                f"{number:>20}{abs(value.imag) / (2 * np.pi):>10.4f}{damping:>10.4f}"
                + "".join(f"{_polar(x):>{width}}" for x in shape)
            )
    return "\n".join(lines)


def _polar(x: complex) -> str:
    turn = round(np.degrees(np.angle(x)), 1) + 0.0 if abs(x) > GIVEN else 0.0
    return f"{abs(x):.4f} ∠ {turn:.1f}°"

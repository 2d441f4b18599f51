"""Results: typed, self-describing, with their diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import door
from ..arguments import file_path, listed, one_of
from ..contract.valueless import searching
from ..errors import ArgumentError, shown, unknown
from ..model.description import Description
from ..model.system import System
from ..numerics.tolerances import TINY
from .files import ENDINGS, read, saved_path, write
from .table import WORK, WORKS, table

if TYPE_CHECKING:
    import pandas as pd

    from ..equations import Equations
    from ..formats.comparison import Comparison


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion on a grid of times, and everything that can be asked of it.

    ``run["elbow"]`` is a coordinate, ``run["elbow'"]`` its speed; joints, bodies and markers
    (positions), inputs and outputs go by name, too. Rows of every array belong to ``time``.
    """

    name: str
    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    w: np.ndarray
    parameters: Mapping[str, float]
    columns: Mapping[str, tuple[str, ...]]  # names of coordinates, speeds, inputs, constraints
    outcome: str = "finished"
    statistics: Mapping[str, Any] = field(default_factory=dict)
    events: Mapping[str, np.ndarray] = field(default_factory=dict)
    equations: Equations | None = None
    stored: Mapping[str, np.ndarray] = field(default_factory=dict)
    # of rigid contacts: parameters that switched
    modes: Mapping[str, np.ndarray] = field(default_factory=dict)
    further: Mapping[str, np.ndarray] = field(default_factory=dict)  # states of controllers
    units: Mapping[str, str] = field(default_factory=dict)  # of a run that was loaded, by column

    @property
    def constants(self) -> dict[str, Any]:
        """Parameters as functions on arrays take them: numbers, and for contacts a value for each
        time."""
        return {**self.parameters, **self.modes}

    # --- by name ----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str):
            raise ArgumentError(
                f"a trajectory is indexed by names such as {self.columns['coordinates'][:1]}, got "
                f"{shown(name)}"
            )
        for kind, values in (("coordinates", self.q), ("speeds", self.u), ("inputs", self.w)):
            if name in self.columns[kind]:
                return values[:, self.columns[kind].index(name)]
        if name in self.further:
            return self.further[name]
        if self.equations is None:
            known = [n for kind in ("coordinates", "speeds", "inputs") for n in self.columns[kind]]
            known += self.further
            raise ArgumentError(
                f"{unknown('column', name, known)}; give load_run(…, system=) to ask for more"
            )
        quantity = self.equations.names.resolve(name)
        if quantity.coordinates:
            return self._trimmed(self.q[:, list(quantity.coordinates)])
        if quantity.speeds:
            return self._trimmed(self.u[:, list(quantity.speeds)])
        values = self.observe(name)
        angles = np.flatnonzero(quantity.angular)
        values[:, angles] = np.unwrap(values[:, angles], axis=0)
        return self._trimmed(values)

    @staticmethod
    def _trimmed(values: np.ndarray) -> np.ndarray:
        return values[:, 0] if values.shape[1] == 1 else values

    @searching()
    def observe(self, quantity: Any) -> np.ndarray:
        """Any quantity of the motion along the run, e.g. ``run.observe(lambda m:
        m.velocity(tip))``."""
        eqs = self._need()
        return eqs.observe(quantity, self.q, self.u, self.time, self.w, self.constants)

    def at(self, rows: Any) -> Trajectory:
        """The motion at some of its times: a slice, indices, or a flag for each time."""
        chosen = self._rows(rows)
        time, q, u, w = (values[chosen] for values in (self.time, self.q, self.u, self.w))
        stored, modes, further = (
            {name: x[chosen] for name, x in along.items()}
            for along in (self.stored, self.modes, self.further)
        )
        return replace(self, time=time, q=q, u=u, w=w, stored=stored, modes=modes, further=further)

    def _rows(self, rows: Any) -> np.ndarray:
        try:
            chosen = np.atleast_1d(np.arange(len(self))[rows])
        except Exception:
            chosen = np.zeros((0, 0))
        if chosen.ndim > 1:
            raise ArgumentError(
                f"at: expected rows of the {len(self)} times, as a slice, indices or flags, got "
                f"{shown(rows)}"
            )
        return chosen

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} … {self.time[-1]:g} s" if len(self) else "empty"
        return f"<Trajectory of {self.name!r}: {span}, {len(self)} times, {self.outcome}>"

    # --- diagnostics ------------------------------------------------------------------------------

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy T."""
        return self._stored(
            "kinetic", lambda e: e.kinetic_energy(self.q, self.u, self.time, self.constants)
        )

    @cached_property
    def potential(self) -> np.ndarray:
        """Potential energy V of gravity and springs."""
        return self._stored(
            "potential", lambda e: e.potential_energy(self.q, self.time, self.constants)
        )

    @property
    def energy(self) -> np.ndarray:
        """T + V."""
        return self.kinetic + self.potential

    @cached_property
    def power(self) -> np.ndarray:
        """Power of everything that changes T + V: drives, dampers, inputs, servo constraints."""
        return self._stored("power", self._compute_power)

    def _compute_power(self, equations: Equations) -> np.ndarray:
        terms, numeric = equations.terms, equations.numeric
        kernel = numeric.kernel(
            "power", lambda: [terms.supplied - terms.dissipated], [0], numeric.closed.force_symbols
        )
        arguments = numeric.arguments(self.q, self.u, self.time, self.w, self.constants)
        return kernel(*arguments, np.concatenate(self._solution, axis=-1))[0]

    @property
    def supplied(self) -> np.ndarray:
        """Work of drives, inputs and servos since the start; negative if they took more than they
        gave."""
        return self._work("supplied")

    @property
    def dissipated(self) -> np.ndarray:
        """Energy that dampers, friction and impacts have taken since the start."""
        return self._work("dissipated")

    def work(self, name: str) -> np.ndarray:
        """Work since the start of one force, constraint or driven joint on the motion, negative if
        it took more than it gave; of a run with ``track_work="elements"``. What impacts take is not
        in it, but in ``dissipated``."""
        found = [key.removeprefix(WORK) for key in self.stored if key.startswith(WORK)]
        if not found:
            raise ArgumentError(
                'work: none of elements was recorded; run simulate with track_work="elements", if '
                "any of them has power"
            )
        return self.stored[WORK + one_of("element with power", name, found)]

    @property
    def imbalance(self) -> np.ndarray:
        """(T + V) + dissipated − supplied, less its value at the start: the error of the energy
        balance."""
        total = self.energy + self.dissipated - self.supplied
        return total - total[:1]

    @property
    def _accounted(self) -> bool:
        return "supplied" in self.stored or (
            self.equations is not None and not self.equations.numeric.closed.work_rates.numel()
        )

    @property
    def _works(self) -> dict[str, np.ndarray]:
        return {kind: self.stored.get(kind, np.zeros(len(self))) for kind in WORKS}

    def _work(self, kind: str) -> np.ndarray:
        if not self._accounted:
            raise ArgumentError(f"{kind}: no work was recorded; run simulate with track_work=True")
        return self._works[kind]

    @cached_property
    def violation(self) -> np.ndarray:
        """Largest violation of the position and velocity constraints and of the quaternions' norms,
        at each time."""
        return self._stored("violation", self._compute_violation)

    def _compute_violation(self, equations: Equations) -> np.ndarray:
        t, p = self.time, self.constants
        parts = [
            equations.position_violation(self.q, t, p),
            equations.velocity_violation(self.q, self.u, t, p),
            equations.terms.chart.off_manifold(self.q),
        ]
        return np.abs(np.concatenate(parts, axis=1)).max(axis=1, initial=0.0)

    @cached_property
    def _solution(self) -> tuple[np.ndarray, np.ndarray]:
        if "udot" in self.stored:
            return self.stored["udot"], self.stored["multipliers"]
        with searching():
            return self._need().solve(self.q, self.u, self.time, self.w, self.constants)

    @property
    def udot(self) -> np.ndarray:
        """Accelerations u̇."""
        return self._solution[0]

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers λ, a column for each name in ``columns["constraints"]``."""
        return self._solution[1]

    def reaction(self, name: str, frame: str = "world") -> np.ndarray:
        """(force, moment) of a joint on its child, or of a constraint (see ``Equations.reaction``):
        six columns, in world axes or with ``frame="joint"`` in those of the joint."""
        state = self.q, self.u, self.time, self.w, self.constants
        with searching():
            return self._need().reaction(name, *state, frame)

    @searching()
    def _stored(self, name: str, compute: Any) -> np.ndarray:
        return self.stored[name] if name in self.stored else compute(self._need())

    def _need(self) -> Equations:
        if self.equations is None:
            raise ArgumentError(
                "this trajectory was loaded without its system; use load_run(path, system=…)"
            )
        return self.equations

    def summary(self) -> str:
        """Outcome, statistics and diagnostics in a few lines."""
        if not len(self):
            return repr(self)
        e = self.energy
        scale = max(float(np.ptp(self.kinetic)), float(np.abs(e).max()), TINY)
        lines = [
            repr(self),
            f"  energy      {e[0]:.9g} → {e[-1]:.9g}  (change {e[-1] - e[0]:+.3g}, spread "
            f"{np.ptp(e) / scale:.2g} relative)",
            *self._balance(scale),
            f"  violation   {self.violation.max(initial=0):.2g} at most",
            *(f"  {key:<11} {value}" for key, value in self.statistics.items()),
            *(
                f"  event {name!r} at {', '.join(f'{t:.6g}' for t in times) or 'no time'}"
                for name, times in self.events.items()
            ),
        ]
        return "\n".join(lines)

    def _balance(self, scale: float) -> list[str]:
        if not self._accounted or not any(work.any() for work in self._works.values()):
            return []
        supplied, dissipated, error = (
            self.supplied[-1],
            self.dissipated[-1],
            np.abs(self.imbalance).max() / scale,
        )
        return [
            f"  work        {supplied:.6g} supplied, {dissipated:.6g} dissipated  (balance to "
            f"{error:.2g} relative)"
        ]

    # --- other forms ------------------------------------------------------------------------------

    def table(self, *what: str) -> pd.DataFrame:
        """A pandas table over time (its index) of all that is asked for, by name: anything that
        ``run[…]`` takes, "violation", or groups of columns: "coordinates", "speeds",
        "accelerations", "inputs", "outputs", "states" (of controllers), "efforts" (of servos),
        "multipliers", "reactions" (of all joints and constraints), "energies". Without names all
        of them but reactions.

        ``table.attrs["units"]`` has the unit of each column, "" where it is not known.
        """
        return table(self, what)

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas table: time as index; coordinates, speeds, inputs, energy and violation as
        columns; ``table`` has more."""
        made = table(self, ("coordinates", "speeds", "inputs", "states"))
        return made.assign(energy=self.energy, violation=self.violation)

    def save(self, path: str | Path, columns: Sequence[str] = ()) -> Path:
        """Write to a file; its ending says how.

        ``.npz`` (also if there is no ending) keeps the run whole, for ``mg.load_run``: arrays and
        one JSON text; nothing in it is code. ``.csv``, ``.parquet``, ``.xlsx``, ``.mat`` and
        ``.h5`` keep the ``table`` of these columns, with units. A file that was there stays as it
        is until the new one is complete.
        """
        path = saved_path(path)
        if path.suffix != ".npz":
            return door.formats.tables.write(self.table(*listed("columns", columns)), path)
        if listed("columns", columns):
            raise ArgumentError(f"{path}: .npz keeps the whole run; columns= goes with a table")
        write(self, path)
        return path

    def compare(
        self, other: Any, columns: Any = None, *, time: str | None = None, shift: float = 0.0
    ) -> Comparison:
        """This run against a measured table, another program's, or another run.

        other: a ``Trajectory``, a pandas table or mapping of columns, or the path of a file:
            ``.csv``, ``.parquet``, ``.xlsx``, ``.mat``, ``.h5``, ``.npz``.
        columns: names of those to compare, or ours by theirs, ``{"hinge": "angle_1"}``; if not
            given, all of the other's whose names mean something here.
        time: the name of the column of times, if it is not "time" or "t".
        shift: seconds that are added to the other's times.

        This run is interpolated (by cubic splines between jumps) at the other's times.
        """
        return door.formats.comparison.compare(self, other, columns, time, shift)

    # --- looking at it ----------------------------------------------------------------------------

    def plot(self, *names: str, path: str | Path | None = None) -> Any:
        """Plot columns by name (coordinates by default) with energy and violation; save to ``path``
        if given."""
        return door.show.plot.plot(self, names, path)

    def view(self, path: str | Path | None = None, **options: Any) -> Any:
        """A 3-D animation: an interactive page (``.html``) or a picture that moves (``.gif``)."""
        return door.show.view.view(self, path, **options)

    def report(self, path: str | Path) -> Path:
        """One self-contained page: the model, its equations' sizes, the run, plots and the
        animation."""
        return door.show.report.report(self, path)


def load_run(path: str | Path, system: Any = None) -> Trajectory:
    """Read a saved trajectory; with its ``system`` it can compute everything that a fresh one
    can."""
    if not (system is None or isinstance(system, (System, Description))):
        raise ArgumentError(f"load_run: system must be a System, got {shown(system)}")
    path = file_path(path)
    if path.suffix.lower() in ENDINGS[1:]:
        raise ArgumentError(f"{path}: a table, not a run; only .npz keeps a run whole")
    try:
        run = Trajectory(**read(path))
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ArgumentError(
            f"{path}: not a trajectory saved by mechgraph ({type(error).__name__}: {error})"
        ) from None
    if system is None:
        return run
    equations = system.equations(run.statistics.get("formalism"))
    for kind in ("coordinates", "speeds", "inputs"):
        if run.columns[kind] != getattr(equations, kind):
            raise ArgumentError(
                f"{path}: its {kind} {run.columns[kind]} are not those of system {system.name!r}"
            )
    return replace(run, equations=equations)

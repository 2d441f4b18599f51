"""Results: typed, self-describing, with their diagnostics."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from ..errors import ArgumentError, blamed, unknown

if TYPE_CHECKING:
    import pandas as pd

    from ..equations.equations import Equations

FORMAT = 1
ROUNDING = 1e-10  # of the matrix of a linear model, relative
NOT_CONSTANT = (
    "this linear model changes along the motion, so its eigenvalues would tell nothing; take an "
    "equilibrium or a steady motion "
    "(equilibrium, steady). If this is a steady motion: describe bodies that turn by chains of "
    "rotations, such as "
    "s.joint(…, [mg.rot('z', 'yaw'), mg.rot('x', 'tilt'), …]), and name the coordinates and speeds "
    "that stay the same with "
    "independent=. A, B, C, D hold at this moment"
)


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
    modes: Mapping[str, np.ndarray] = field(
        default_factory=dict
    )  # of rigid contacts: parameters that switched

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
                f"{name!r}"
            )
        for kind, values in (("coordinates", self.q), ("speeds", self.u), ("inputs", self.w)):
            if name in self.columns[kind]:
                return values[:, self.columns[kind].index(name)]
        return self._derived(name)

    def _derived(self, name: str) -> np.ndarray:
        """Whole joints, cut joints, bodies, markers and outputs: they need the equations."""
        known = dict.fromkeys(
            n for kind in ("coordinates", "speeds", "inputs") for n in self.columns[kind]
        )
        if self.equations is None:
            raise ArgumentError(
                f"{unknown('column', name, known)}; give load(…, system=) to ask for more"
            )
        k, system = self.equations.kinematics, self.equations.system
        if name in system.bodies or name in system.markers:
            return self.observe(lambda m: m.position(name))
        if name in k.joint_coordinates:
            return self.q[:, list(k.joint_coordinates[name])]
        joint = name.removesuffix("'")
        if joint in k.joint_coordinates and joint in k.joint_speeds:
            return self.u[:, list(k.joint_speeds[joint])]
        if name in system.outputs:
            with blamed(f"output {name!r}"):
                return self._trimmed(self.observe(system.outputs[name]))
        return self._cut_joint(name)

    def _cut_joint(self, name: str) -> np.ndarray:
        assert self.equations is not None
        for joint in self.equations.kinematics.topology.cut:
            if name in (f"{joint.name}'", *joint.speeds):
                return self._trimmed(self.observe(lambda m: m.speed(name)))
            if name in (joint.name, *joint.coordinates):
                values = self.observe(lambda m: m.coordinate(name))
                angles = [
                    i
                    for i, n in enumerate(joint.coordinates if name == joint.name else [name])
                    if n in joint.angles
                ]
                values[:, angles] = np.unwrap(values[:, angles], axis=0)
                return self._trimmed(values)
        system = self.equations.system
        known = [n for kind in ("coordinates", "speeds", "inputs") for n in self.columns[kind]]
        raise ArgumentError(
            unknown(
                "name",
                name,
                [*known, *system.joints, *system.bodies, *system.markers, *system.outputs],
            )
        )

    @staticmethod
    def _trimmed(values: np.ndarray) -> np.ndarray:
        return values[:, 0] if values.shape[1] == 1 else values

    def observe(self, quantity: Any) -> np.ndarray:
        """Any quantity of the motion along the run, e.g. ``run.observe(lambda m:
        m.velocity(tip))``."""
        eqs = self._need()
        return eqs.observe(quantity, self.q, self.u, self.time, self.w, self.constants)

    def at(self, rows: Any) -> Trajectory:
        """The motion at some of its times."""
        time, q, u, w = (values[rows] for values in (self.time, self.q, self.u, self.w))
        stored, modes = (
            {name: x[rows] for name, x in along.items()} for along in (self.stored, self.modes)
        )
        return replace(self, time=time, q=q, u=u, w=w, stored=stored, modes=modes)

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
        return self._stored("power", lambda e: e.power_along(self))

    @property
    def supplied(self) -> np.ndarray:
        """Work of drives, inputs and servos since the start; negative if they took more than they
        gave."""
        return self._work("supplied")

    @property
    def dissipated(self) -> np.ndarray:
        """Energy that dampers, friction and impacts have taken since the start."""
        return self._work("dissipated")

    @property
    def imbalance(self) -> np.ndarray:
        """(T + V) + dissipated − supplied, less its value at the start: the error of the energy
        balance."""
        total = self.energy + self.dissipated - self.supplied
        return total - total[0]

    @property
    def _accounted(self) -> bool:
        return "supplied" in self.stored or (
            self.equations is not None and not self.equations.work_rates.numel()
        )

    @property
    def _works(self) -> dict[str, np.ndarray]:
        return {
            kind: self.stored.get(kind, np.zeros(len(self))) for kind in ("supplied", "dissipated")
        }

    def _work(self, kind: str) -> np.ndarray:
        if not self._accounted:
            raise ArgumentError(f"{kind}: no work was recorded; run simulate with account=True")
        return self._works[kind]

    @cached_property
    def violation(self) -> np.ndarray:
        """Largest violation of the position and velocity constraints and of the quaternions' norms,
        at each time."""
        return self._stored("violation", lambda e: e.violation_along(self))

    @cached_property
    def _solution(self) -> tuple[np.ndarray, np.ndarray]:
        if "udot" in self.stored:
            return self.stored["udot"], self.stored["multipliers"]
        return self._need().solve(self.q, self.u, self.time, self.w, self.constants)

    @property
    def udot(self) -> np.ndarray:
        """Accelerations u̇."""
        return self._solution[0]

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers λ, a column for each name in ``columns["constraints"]``."""
        return self._solution[1]

    def reaction(self, name: str) -> np.ndarray:
        """(force, moment) of a joint on its child, or of a constraint (see ``Equations.reaction``):
        six columns, world axes."""
        return self._need().reaction(name, self.q, self.u, self.time, self.w, self.constants)

    def _stored(self, name: str, compute: Any) -> np.ndarray:
        return self.stored[name] if name in self.stored else compute(self._need())

    def _need(self) -> Equations:
        if self.equations is None:
            raise ArgumentError(
                "this trajectory was loaded without its system; use load(path, system=…)"
            )
        return self.equations

    def summary(self) -> str:
        """Outcome, statistics and diagnostics in a few lines."""
        e = self.energy
        scale = max(float(np.ptp(self.kinetic)), float(np.abs(e).max()), 1e-300)
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

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas table: time as index; coordinates, speeds, inputs, energy and violation as
        columns."""
        import pandas as pd

        names = [*self.columns["coordinates"], *self.columns["speeds"], *self.columns["inputs"]]
        table = pd.DataFrame(
            np.hstack([self.q, self.u, self.w]),
            columns=names,
            index=pd.Index(self.time, name="time"),
        )
        return table.assign(energy=self.energy, violation=self.violation)

    def save(self, path: str | Path) -> Path:
        """Write to a ``.npz`` file (arrays and one JSON text; nothing in it is code)."""
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
        meta = {
            "format": FORMAT,
            "name": self.name,
            "columns": {key: list(value) for key, value in self.columns.items()},
            "parameters": dict(self.parameters),
            "outcome": self.outcome,
            "statistics": dict(self.statistics),
            "events": {key: list(map(float, value)) for key, value in self.events.items()},
        }
        diagnostics = {
            "kinetic": self.kinetic, "potential": self.potential, "power": self.power, "violation": self.violation,
            "udot": self.udot, "multipliers": self.multipliers, **(self._works if self._accounted else {}),
        }  # fmt: skip
        modes = {f"mode {name}": values for name, values in self.modes.items()}
        arrays: dict[str, Any] = {
            "time": self.time,
            "q": self.q,
            "u": self.u,
            "w": self.w,
            **diagnostics,
            **modes,
        }
        np.savez_compressed(path, meta=np.array(json.dumps(meta)), **arrays)
        return path

    # --- looking at it ----------------------------------------------------------------------------

    def plot(self, *names: str, path: str | Path | None = None) -> Any:
        """Plot columns by name (coordinates by default) with energy and violation; save to ``path``
        if given."""
        from ..show.plot import plot

        return plot(self, names, path)

    def view(self, path: str | Path | None = None, **options: Any) -> Any:
        """A 3-D animation: an interactive page (``.html``) or a picture that moves (``.gif``)."""
        from ..show.view import view

        return view(self, path, **options)

    def report(self, path: str | Path) -> Path:
        """One self-contained page: the model, its equations' sizes, the run, plots and the
        animation."""
        from ..show.report import report

        return report(self, path)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x' = A x + B w, y = C x + D w about a state: deviations of the named states, inputs and
    outputs.

    ``Z`` gives the deviations of all coordinates and speeds (``variations``) for those of the
    states. The matrices are those of the moment ``t``; ``constant`` tells if A stays what it is
    along the motion (but for states that nothing depends on). In a steady turn it may do so for
    axes that turn along: then ``turning`` is their angular velocity.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    Z: np.ndarray
    variations: tuple[str, ...]
    q: np.ndarray
    u: np.ndarray
    t: float = 0.0
    constant: bool = True
    turning: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, the most unstable first."""
        return self.modes()[0]

    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, the most unstable first, and for each a column with the motion of all
        ``variations``."""
        if not self.constant:
            raise ArgumentError(NOT_CONSTANT)
        values, vectors = np.linalg.eig(self.A)
        order = np.argsort(-values.real, kind="stable")
        return values[order], self.Z @ vectors[:, order]

    def is_stable(self, tolerance: float | None = None) -> bool:
        """True if no eigenvalue has a positive real part: above the tolerance (relative to the
        largest eigenvalue).

        By default above what rounding can make of it, which is more where eigenvalues coincide.
        """
        values = self.eigenvalues()
        if tolerance is not None:
            return bool(
                (values.real <= tolerance * max(1.0, float(np.abs(values).max(initial=0.0)))).all()
            )
        return bool((values.real <= 0).all()) or self._within_rounding()

    def _within_rounding(self) -> bool:
        """Rounding of A by ε moves a simple eigenvalue with unit eigenvectors x, y (right and left)
        by ε/|y·x|."""
        A = balanced(self.A)[0]
        values, left, right = scipy.linalg.eig(A, left=True, right=True)
        conditions = np.abs(np.sum(left.conj() * right, axis=0))
        return bool((values.real * conditions <= ROUNDING * np.linalg.norm(A)).all())

    def to_control(self) -> Any:
        """The same as a ``control.StateSpace`` (needs the package ``control``); dots in names
        become underscores there."""
        try:
            import control
        except ImportError:
            raise ArgumentError(
                "to_control() needs the package control: pip install control"
            ) from None
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        labels = {
            key: [name.replace(".", "_") for name in value] for key, value in names.items() if value
        }
        return control.ss(self.A, self.B, self.C, self.D, **labels)

    def __repr__(self) -> str:
        axes = (
            f", for axes that turn with {self.turning.round(6).tolist()}"
            if self.turning.any()
            else ""
        )
        change = "" if self.constant else ", changing along the motion"
        return f"<LinearModel: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs{axes}{change}>"


def balanced(A: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """A, and others with it, in units of the states that make its rows and columns alike; rounding
    in A does not count."""
    clean = np.where(np.abs(A) > ROUNDING * np.abs(A).max(initial=0.0), A, 0.0)
    units = (
        scipy.linalg.matrix_balance(clean, permute=False, separate=True)[1][0]
        if A.size
        else np.ones(0)
    )
    return [matrix * units / units[:, None] for matrix in (A, *others)]


def load(path: str | Path, system: Any = None) -> Trajectory:
    """Read a saved trajectory; with its ``system`` it can compute everything that a fresh one
    can."""
    try:
        run = _read(Path(path))
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
    ) as error:
        raise ArgumentError(
            f"{path}: not a trajectory saved by mechgraph ({type(error).__name__}: {error})"
        ) from None
    if system is None:
        return run
    equations = system.equations(run.statistics.get("formalism"))
    for kind, names in (
        ("coordinates", equations.coordinates),
        ("speeds", equations.speeds),
        ("inputs", equations.inputs),
    ):
        if run.columns[kind] != names:
            raise ArgumentError(
                f"{path}: its {kind} {run.columns[kind]} are not those of system {system.name!r}"
            )
    return replace(run, equations=equations)


def _read(path: Path) -> Trajectory:
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(str(file["meta"]))
        arrays = {key: file[key] for key in file.files if key != "meta"}
    if meta["format"] != FORMAT:
        raise ValueError(
            f"format {meta['format']!r} is not known to this version, which reads {FORMAT}"
        )
    columns = {key: tuple(value) for key, value in meta["columns"].items()}
    states = {key: arrays.pop(key) for key in ("time", "q", "u", "w")}
    modes = {
        key.removeprefix("mode "): arrays.pop(key)
        for key in list(arrays)
        if key.startswith("mode ")
    }
    shapes = {
        "time": (),
        "q": columns["coordinates"],
        "u": columns["speeds"],
        "w": columns["inputs"],
    }
    for key, names in shapes.items():
        wanted = (len(states["time"]), *([len(names)] if key != "time" else []))
        if states[key].shape != wanted:
            raise ValueError(f"{key} has the shape {states[key].shape}, not {wanted}")
    return Trajectory(
        name=meta["name"],
        **states,
        parameters=meta["parameters"],
        columns=columns,
        outcome=meta["outcome"],
        statistics=meta["statistics"],
        events={key: np.array(value) for key, value in meta["events"].items()},
        stored=arrays,
        modes=modes,
    )

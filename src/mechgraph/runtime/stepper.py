"""``Stepper``: the integrator of steps.c, on functions that are interpreted or in machine code."""

from __future__ import annotations

import ctypes
import functools
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.routine import POINTER, Routine
from .library import WHOLE, library, structure

# why ``integrate`` returned
END, TOO_SMALL, GO_ON, KINK, CONTACTS, EVENT, ENDLESS = range(7)
STOPPED, NOT_A_NUMBER, STIFF, NOT_STIFF = range(7, 11)
METHODS = {"rk8": 0, "dop853": 0, "radau": 1, "rk45": 2}
ROWS = 256  # states that are remembered along the way
SAMPLES = 4096  # that are logged before Python has to look
CROSSINGS, NOTES = 256, 1024  # as in steps.c

_long, _double, _at = ctypes.c_long, ctypes.c_double, ctypes.c_void_p
STAGES = ctypes.CFUNCTYPE(_double, _double)


@functools.cache
def _steps() -> ctypes.CDLL:
    """The runtime, with what it is asked for here."""
    found = library()
    for name, result, arguments in (
        ("run_create", _long, [_at]),
        ("steps_integrate", ctypes.c_int, [_double, _double]),
        ("steps_begin", None, []),
    ):
        function = getattr(found, name)
        function.restype, function.argtypes = result, [_at, *arguments]
    return found


@dataclass(frozen=True)
class Sampling:
    """What is asked at the moments start + k / rate, and whose values are constants from then on,
    at these places among them: a routine of x = (y, t, constants), or a Python function of x."""

    ask: Routine | Callable[[np.ndarray], np.ndarray]
    start: float
    rate: float
    place: np.ndarray


class Stepper:
    """ẏ = flow(y, t, constants), step after step, by a ``method``.

    ``project`` brings a state back to where it has to stay, ``surface`` has a row for each function
    whose changes of sign in its ``direction`` (0: either) end a step there, if they are
    ``ending`` ones. The first are ``margins``, whose fall ends the work until it is said what to
    do, then ``kinks``; the last ``pieces`` are numbers of pieces, which tell how often others
    change their sign; what is between are events, which are noted. Slopes depend on the first
    ``moving`` of y alone. ``signal`` writes into the vector (y, t, constants) what Python has to
    say, before slopes are taken, and before surfaces are if these are ``signalled``. Of
    ``samplings`` the last ``held`` constants are logged. The functions are told ``origin`` + t.
    Steps are at most ``longest``, and ``max_step_unobserved`` where errors tell nothing.
    ``watching``: it tells of stiffness.
    """

    def __init__(
        self,
        method: str,
        flow: Routine,
        project: Routine | None,
        surface: Routine | None,
        moving: int,
        constants: np.ndarray,
        rtol: float,
        atol: float,
        longest: float,
        max_step_unobserved: float = np.inf,
        origin: float = 0.0,
        signal: Callable[[np.ndarray], None] | None = None,
        signalled: bool = False,
        samplings: Sequence[Sampling] = (),
        held: int = 0,
        watching: bool = False,
        margins: int = 0,
        kinks: int = 0,
        pieces: int = 0,
        direction: np.ndarray | float = 0,
        ending: np.ndarray | float = 0,
    ) -> None:
        self._c = _steps()
        self._flow = flow
        self._routines = {"flow": flow, "project": project, "surface": surface}
        self._signal, self._samplings = signal, samplings
        self._hold: dict[str, Any] = {}  # what C points to
        self.raised: BaseException | None = None
        n, count = flow.size, surface.size if surface is not None else 0
        width, widest = n + 1 + len(constants), max((len(s.place) for s in samplings), default=0)
        sizes = {"n": n, "surfaces": count, "width": width, "widest": widest, "rows": ROWS}
        sizes |= {"moving": moving, "held": held}
        sizes |= {"margins": margins, "kinks": kinks, "pieces": pieces}
        sizes |= {"samplers": len(samplings), "log_rows": SAMPLES, "load": flow.operations}
        numbers = {
            "rtol": rtol,
            "atol": atol,
            "longest": longest,
            "max_step_unobserved": max_step_unobserved,
            "origin": origin,
        }
        how = {"method": METHODS[method], "watching": watching, "signalled": 1 + 2 * signalled}
        self.run: Any = structure("Run")(**sizes, **numbers, **how)
        self._create()
        self.arrays["x"][n + 1 :] = constants
        self.arrays["direction"][:], self.arrays["ending"][:] = direction, ending
        self._connect()

    def _create(self) -> None:
        """One piece of memory, and views of parts of it."""
        run = ctypes.byref(self.run)
        self._memory = np.zeros(self._c.run_create(run, None), np.uint8)
        self._c.run_create(run, self._memory.ctypes.data)
        n, count = self.run.n, self.run.surfaces
        sizes = dict.fromkeys(("y", "ydot", "fresh", "projected"), n) | {
            "x": self.run.width,
            "Z": 3 * n,
        }
        sizes |= {"result": max(n + count, self.run.widest), "trace": ROWS * (n + 1)}
        sizes |= {"log": SAMPLES * (self.run.held + 1) if self._samplings else 0}
        sizes |= {"from": CROSSINGS, "to": CROSSINGS, "events": 2 * NOTES}
        self.arrays = {
            name: self._view(name, size, np.dtype(float)) for name, size in sizes.items()
        }
        whole = dict.fromkeys(("side", "direction", "ending"), count) | {"which": CROSSINGS}
        self.arrays |= {name: self._view(name, size, WHOLE) for name, size in whole.items()}

    def _view(self, name: str, size: int, kind: np.dtype[Any]) -> np.ndarray:
        first = getattr(self.run, name) - self._memory.ctypes.data
        return self._memory[first : first + size * kind.itemsize].view(kind)

    def _point(self, *names: str) -> None:
        for name in names:
            setattr(self.run, name, self.arrays[name].ctypes.data)

    # --- functions --------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Hand over the functions as they are now: interpreted or in machine code."""
        used = [routine for routine in self._all if routine is not None]
        self.arrays["work"] = np.zeros(max(routine.workspace for routine in used))
        self._point("work")
        for name, routine in self._routines.items():
            if routine is not None:
                self._hold[name] = self._pointer(routine)
                setattr(self.run, name, ctypes.cast(self._hold[name], _at).value)
        if self._signal is not None:
            self._hold["signal"] = self._guarded(functools.partial(self._signal, self.arrays["x"]))
            self.run.signal = ctypes.cast(self._hold["signal"], _at).value
        self._connect_samplers()
        self._tiers = self.tiers

    def _connect_samplers(self) -> None:
        before = self._hold.get("samplers", ())
        samplers = self._hold["samplers"] = (structure("Sampler") * len(self._samplings))()
        calls = self._hold["calls"] = [self._asked(each) for each in self._samplings]
        places = self._hold["places"] = [each.place.astype(WHOLE) for each in self._samplings]
        for k, (each, call, place) in enumerate(zip(self._samplings, calls, places, strict=True)):
            tick = before[k].tick if before else 0
            function = ctypes.cast(call, _at).value
            own = function, each.start, each.rate, tick, len(place), place.ctypes.data
            samplers[k] = structure("Sampler")(*own)
        self.run.sampler = ctypes.addressof(samplers)

    def _asked(self, sampling: Sampling) -> Any:
        ask, x = sampling.ask, self.arrays["x"]
        if isinstance(ask, Routine):
            return self._pointer(ask)
        result = self.arrays["result"][: len(sampling.place)]

        def call() -> None:
            result[:] = ask(x)

        return self._guarded(call)

    def _pointer(self, routine: Routine) -> Any:
        if routine.native is not None:
            return routine.native
        result = self.arrays["result"][: routine.size]
        return self._guarded(routine.interpreted(self.arrays["x"], result))

    def _guarded(self, evaluate: Callable[[], None]) -> Any:
        """A function of Python as C calls it: nothing that it raises may pass through C."""

        def call(*_: int) -> int:
            try:
                evaluate()
            except BaseException as error:
                self.raised = error
                return 1
            return 0

        return POINTER(call)

    @property
    def _all(self) -> list[Routine | None]:
        sampled = [each.ask for each in self._samplings if isinstance(each.ask, Routine)]
        return [*self._routines.values(), *sampled]

    @property
    def tiers(self) -> list[str]:
        """Of each function, the tier it could be evaluated in."""
        return [routine.tier for routine in self._all if routine is not None]

    @property
    def tier(self) -> str:
        """What evaluates the slopes."""
        return self._tiers[0]

    @property
    def spent(self) -> float:
        """Seconds of this run, and of others with the same slopes."""
        return self._flow.spent

    def hasten(self, seconds: float) -> None:
        """Start a compiler in the background if it is expected to be done in less than these; what
        it has made is used from the next call on."""
        for routine in self._all:
            if routine is not None:
                routine.hasten(seconds)

    # --- the way ----------------------------------------------------------------------------------

    @property
    def state(self) -> np.ndarray:
        """y."""
        return self.arrays["y"]

    def output(self, times: np.ndarray) -> np.ndarray:
        """From now on, states at these times, as rows of the array that is returned: ``run.done``
        of them are there."""
        self.arrays["times"] = np.ascontiguousarray(times, dtype=float)
        self.arrays["out"] = np.empty((len(times), self.run.n))
        self._point("times", "out")
        self.run.count, self.run.done = len(times), 0
        return self.arrays["out"]

    def begin(self, t: float, y: np.ndarray, constants: np.ndarray) -> None:
        """Go on from here, with these as the first constants."""
        self.run.t, self.arrays["y"][:] = t, y
        self.arrays["x"][self.run.n + 1 :][: len(constants)] = constants
        self._called(self._c.steps_begin)

    def change_over(self, method: str) -> None:
        """Go on by this method."""
        self.run.method = METHODS[method]
        self._called(self._c.steps_begin)

    def give_stages(self, stages: Callable[[float], float]) -> None:
        """From now on an implicit step of length h is what this function of h makes of ``Z``, three
        stages relative to y; it returns the error, in units of the tolerance."""

        def call(h: float) -> float:
            try:
                return stages(h)
            except BaseException as error:
                self.raised, self.run.stopped = error, 1
                return 0.0

        self._hold["stages"] = STAGES(call)
        self.run.stages = ctypes.cast(self._hold["stages"], _at).value

    def integrate(self, end: float, seconds: float) -> int:
        """Steps up to ``end``, for some seconds; why it returned."""
        if self.tiers != self._tiers:
            self._connect()
        return self._called(self._c.steps_integrate, end, seconds)

    def shorten(self) -> bool:
        """Try the step again with a shorter one; False if it cannot be much shorter."""
        self.run.h = self.run.step / 4
        return self.run.h > 1e-9 * max(1e-3, abs(self.run.t))

    @property
    def jump(self) -> float:
        """How far the step that was tried last is off its constraints, relative."""
        fresh, projected = (self.arrays[name][: self.run.moving] for name in ("fresh", "projected"))
        return float((np.abs(projected - fresh) / (1 + np.abs(fresh))).max(initial=0.0))

    def crossings(self) -> list[tuple[int, float, float]]:
        """Of the step that was searched last: which surface changes its sign between which two
        parts of it."""
        found = (self.arrays[name][: self.run.crossings] for name in ("which", "from", "to"))
        return list(zip(*(each.tolist() for each in found), strict=True))

    def events(self) -> list[tuple[int, float]]:
        """What was noted since the last call: which event, and when."""
        noted = self.arrays["events"][: 2 * self.run.noted].reshape(-1, 2)
        self.run.noted = 0
        return [(int(event), moment) for event, moment in noted.tolist()]

    def samples(self) -> np.ndarray:
        """What was sampled since the last call: the moment and the constants that are held."""
        rows = self.arrays["log"][: self.run.logged * (self.run.held + 1)]
        self.run.logged = 0
        return rows.reshape(-1, self.run.held + 1).copy()

    def trace(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and states along the way, whatever the output is."""
        rows = self.arrays["trace"].reshape(ROWS, -1)[: self.run.traced]
        return rows[:, 0].copy(), rows[:, 1:].copy()

    def _called(self, function: Any, *arguments: Any) -> Any:
        """Call C; what Python raised inside of it is raised now."""
        began = clock.perf_counter()
        value = function(ctypes.byref(self.run), *arguments)
        self._flow.spent += clock.perf_counter() - began
        self.run.stopped = 0
        if self.raised is not None:
            error, self.raised = self.raised, None
            raise error
        return value

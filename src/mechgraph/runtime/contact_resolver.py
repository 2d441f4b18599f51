"""``ContactResolver``: contacts.c on functions that are interpreted or in machine code."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.routine import POINTER, Routine
from .library import WHOLE, library, structure

# what it returns
RESOLVED, DRIVEN, WITHOUT_END, UNKNOWN, NO_ROOM = range(5)
FUNCTIONS = (
    *("gaps", "quantities", "rings", "terms", "law", "sizes"),
    *("places", "shifted", "energy"),
)
SIZES = ("coordinates", "speeds", "rows", "held", "velocities", "points")
# columns of the table of points: rows of A, places in x (−1: none), and the number of the pair
COLUMNS = (
    *("gap", "level 1", "level 2", "slip 1", "slip 2"),
    *("touching", "sticking", "flat", "heading 1", "heading 2", "pair"),
)

_long, _at = ctypes.c_long, ctypes.c_void_p


@functools.cache
def _contacts() -> ctypes.CDLL:
    """The runtime, with what it is asked for here."""
    found = library()
    found.contacts_resolve.argtypes = [_at]
    for size in (found.contacts_room, found.contacts_whole):
        size.restype = _long
    found.contacts_room.argtypes = [*[_long] * 4, _at]
    found.contacts_whole.argtypes = [_long, _long, _at]
    return found


@dataclass(frozen=True)
class Layout:
    """What contacts.c has to know of a model besides its functions.

    ``points`` has a row for each point, see ``COLUMNS``; ``sizes`` are those of ``SIZES`` but for
    the last.
    """

    points: np.ndarray
    sizes: tuple[int, ...]


class ContactResolver:
    """What happens at an event, in C; ``functions`` are those of ``FUNCTIONS``, of a vector x of
    this width; ``signal`` writes into x what Python has to say, before each of them."""

    def __init__(
        self,
        functions: Mapping[str, Routine],
        layout: Layout,
        width: int,
        signal: Callable[[np.ndarray], None] | None = None,
    ) -> None:
        self._c, self._functions, self._signal = _contacts(), functions, signal
        self._points, count = np.ascontiguousarray(layout.points, WHOLE), len(layout.points)
        sizes = dict(zip(SIZES, (*layout.sizes, count), strict=True))
        self._run: Any = structure("Contacts")(**sizes)
        self._run.point = self._points.ctypes.data
        given = count, self._run.point
        self._run.room_size = self._c.contacts_room(*(sizes[k] for k in SIZES[:3]), *given)
        self._run.whole_size = self._c.contacts_whole(sizes["rows"], *given)
        self.arrays = {
            "x": np.zeros(width),
            **{name: np.zeros(count, WHOLE) for name in ("touching", "sticking", "flat")},
            **{name: np.zeros(count, WHOLE) for name in ("tipping", "odd", "guilty")},
            **{name: np.zeros((count, 2)) for name in ("heading", "arm")},
            "room": np.empty(self._run.room_size),
            "whole": np.empty(self._run.whole_size, WHOLE),
        }
        for name, array in self.arrays.items():
            of = self._run if hasattr(self._run, name) else self._run.modes
            setattr(of, name, array.ctypes.data)
        self._raised: BaseException | None = None
        self._connect()

    def _connect(self) -> None:
        """Hand over the functions as they are now: interpreted or in machine code."""
        self._work = np.zeros(max(each.workspace for each in self._functions.values()))
        self._run.work = self._work.ctypes.data
        self._hold = {name: self._pointer(each) for name, each in self._functions.items()}
        if self._signal is not None:
            self._hold["signal"] = self._told(self._signal)
        for name, pointer in self._hold.items():
            setattr(self._run, name, ctypes.cast(pointer, _at).value)
        self._tiers = self._now

    @property
    def _now(self) -> list[str]:
        return [each.tier for each in self._functions.values()]

    def _pointer(self, routine: Routine) -> Any:
        if routine.native is not None:
            return routine.native
        result = np.zeros(routine.size)
        return self._guarded(routine.interpreted(self.arrays["x"], result), result)

    def _told(self, signal: Callable[[np.ndarray], None]) -> Any:
        return self._guarded(lambda: signal(self.arrays["x"]), np.zeros(0))

    def _guarded(self, evaluate: Callable[[], None], result: np.ndarray) -> Any:
        """A function of Python as C calls it: nothing that it raises may pass through C."""

        def call(_x: int, _work: int, out: int) -> int:
            try:
                evaluate()
                if len(result):
                    ctypes.memmove(out, result.ctypes.data, result.nbytes)
            except BaseException as error:
                self._raised = error
                return 1
            return 0

        return POINTER(call)

    def __call__(self, standing: int) -> tuple[int, int, float]:
        """Resolve the state and the modes that are in ``arrays``: why it returned, impacts, and the
        work of moving bases."""
        if self._now != self._tiers:
            self._connect()
        self._run.standing, self._run.count = standing, 0
        why = self._c.contacts_resolve(ctypes.byref(self._run))
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
        return why, int(self._run.count), float(self._run.given)

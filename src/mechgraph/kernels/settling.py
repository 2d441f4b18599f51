"""``Settling``: contacts.c on functions that are interpreted or in machine code."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .compiler import Compiler, find_compiler, key_of, load
from .emit import text_of
from .routine import POINTER, Routine

# what it returns
SETTLED, DRIVEN, WITHOUT_END, UNKNOWN, NO_ROOM = range(5)
FUNCTIONS = ("gaps", "seen", "rings", "terms", "law", "places", "shifted", "energy")
SIZES = ("coordinates", "speeds", "rows", "held", "velocities", "points")
# columns of the table of points: rows of A, places in x (−1: none), and the number of the pair
COLUMNS = (
    *("gap", "level 1", "level 2", "slip 1", "slip 2"),
    *("touching", "sticking", "flat", "heading 1", "heading 2", "pair"),
)

_long, _double, _at = ctypes.c_long, ctypes.c_double, ctypes.c_void_p


class _Contacts(ctypes.Structure):
    """``Contacts`` of contacts.c."""

    _fields_ = (
        *((name, _at) for name in FUNCTIONS),
        *((name, _long) for name in SIZES),
        ("gravity", _double),
        *((name, _at) for name in ("point", "touching", "sticking", "flat", "tipping", "odd")),
        *((name, _at) for name in ("guilty", "heading", "arm")),
        *((name, _long) for name in ("standing", "count")),
        ("given", _double),
        *((name, _at) for name in ("x", "work")),
        *((name, _long) for name in ("stopped", "is_full")),
        *((name, _at) for name in ("room", "whole")),
        *((name, _long) for name in ("room_size", "whole_size", "room_used", "whole_used")),
    )


@functools.cache
def _library(compiler: Compiler | None) -> ctypes.CDLL:
    """The compiled contacts.c; a ``CompilationFailure`` if there is no compiler."""
    text = text_of("contacts/contacts.c")
    library = load(key_of(text), lambda: text)
    library.contacts_settle.argtypes = [_at]
    for size in (library.contacts_room, library.contacts_whole):
        size.restype = _long
    library.contacts_room.argtypes = [*[_long] * 4, _at]
    library.contacts_whole.argtypes = [_long, _long, _at]
    return library


@dataclass(frozen=True)
class Layout:
    """What contacts.c has to know of a model besides its functions.

    ``points`` has a row for each point, see ``COLUMNS``; ``sizes`` are those of ``SIZES`` but for
    the last.
    """

    points: np.ndarray
    sizes: tuple[int, ...]
    gravity: float


class Settling:
    """What happens at an event, in C; ``functions`` are those of ``FUNCTIONS``, of a vector x of
    this width."""

    def __init__(self, functions: Mapping[str, Routine], layout: Layout, width: int) -> None:
        self._c, self._functions = _library(find_compiler()), functions
        self._points, count = np.ascontiguousarray(layout.points, np.int64), len(layout.points)
        sizes = dict(zip(SIZES, (*layout.sizes, count), strict=True))
        self._run = _Contacts(**sizes, gravity=layout.gravity)
        self._run.point = self._points.ctypes.data
        given = count, self._run.point
        self._run.room_size = self._c.contacts_room(*(sizes[k] for k in SIZES[:3]), *given)
        self._run.whole_size = self._c.contacts_whole(sizes["rows"], *given)
        self.arrays = {
            "x": np.zeros(width),
            **{name: np.zeros(count, np.int64) for name in ("touching", "sticking", "flat")},
            **{name: np.zeros(count, np.int64) for name in ("tipping", "odd", "guilty")},
            **{name: np.zeros((count, 2)) for name in ("heading", "arm")},
            "room": np.empty(self._run.room_size),
            "whole": np.empty(self._run.whole_size, np.int64),
        }
        for name, array in self.arrays.items():
            setattr(self._run, name, array.ctypes.data)
        self._raised: BaseException | None = None
        self._connect()

    def _connect(self) -> None:
        """Hand over the functions as they are now: interpreted or in machine code."""
        self._work = np.zeros(max(each.workspace for each in self._functions.values()))
        self._run.work = self._work.ctypes.data
        self._hold = {name: self._pointer(each) for name, each in self._functions.items()}
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

    def _guarded(self, evaluate: Callable[[], None], result: np.ndarray) -> Any:
        """A function of Python as C calls it: nothing that it raises may pass through C."""

        def call(_x: int, _work: int, out: int) -> int:
            try:
                evaluate()
                ctypes.memmove(out, result.ctypes.data, result.nbytes)
            except BaseException as error:
                self._raised = error
                return 1
            return 0

        return POINTER(call)

    def __call__(self, standing: int) -> tuple[int, int, float]:
        """Settle the state and the modes that are in ``arrays``: why it returned, impacts, and the
        work of moving bases."""
        if self._now != self._tiers:
            self._connect()
        self._run.standing, self._run.count = standing, 0
        why = self._c.contacts_settle(ctypes.byref(self._run))
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
        return why, int(self._run.count), float(self._run.given)

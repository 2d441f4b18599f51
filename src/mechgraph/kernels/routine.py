"""A function of one vector as C code calls it: interpreted at first, machine code when that is
worth while."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..graph.program import trace, without_table_slopes
from .compiler import (
    CompilationFailure,
    find_cached,
    find_compiler,
    is_automatic,
    key_of,
    load,
    report,
)
from .emit import emitter_text, routine_text
from .kernel import AUTOMATIC, SECONDS_PER_OPERATION

LARGEST = 300_000  # operations that a compiler in the background takes about a minute for
LOOKED_UP = 200_000  # operations beyond which it takes long to learn the name of cached code

# int f(const double *x, double *workspace, double *result)
POINTER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Routine:
    """result = f(x).

    It is compiled once, for all that call it, and is interpreted until then.
    """

    def __init__(self, name: str, x: SX, result: SX) -> None:
        self.function = without_table_slopes(ca.Function(name, [x], [ca.densify(result)]))
        self.size = result.numel()
        self.native: Any = None  # the function in machine code, when there is one
        self.workspace = 1
        self.spent = 0.0  # seconds of the runs that it is for
        self._thread: threading.Thread | None = None
        self._failed = find_compiler() is None
        if not self._failed and self.operations <= LOOKED_UP and is_automatic():
            self._failed = find_cached(self._key) is not None and not self.compile()

    @cached_property
    def operations(self) -> int:
        """How many it has."""
        return int(self.function.n_instructions())

    @property
    def tier(self) -> str:
        return "interpreter" if self.native is None else "machine code"

    def interpreted(self, x: np.ndarray, result: np.ndarray) -> Callable[[], None]:
        """A function that evaluates it from one array into another."""
        buffer, trigger = self.function.buffer()
        buffer.set_arg(0, x.data)
        buffer.set_res(0, result.data)

        def evaluate(kept: Any = (buffer, x, result)) -> None:
            trigger()

        return evaluate

    def hasten(self, seconds: float) -> None:
        """Start a compiler in the background, unless that has been done, would take minutes, or
        would take longer than this."""
        ready = self.native is not None or self._thread is not None or self._failed
        pays = self.operations <= seconds / SECONDS_PER_OPERATION
        if not ready and pays and self.operations <= LARGEST and is_automatic():
            self._thread = threading.Thread(target=self.compile, daemon=True)
            self._thread.start()

    @property
    def is_quick_to_compile(self) -> bool:
        """True if that takes seconds, not minutes, and may be done unasked."""
        return self.operations <= AUTOMATIC and is_automatic()

    def compile(self) -> bool:
        """Compile it now, or wait until it is; False if there is no machine code to be had."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self.native is None and not self._failed:
            try:
                self._take(load(self._key, self._source))
            except CompilationFailure as failure:
                self._failed = True
                report(failure)
        return self.native is not None

    def _take(self, library: ctypes.CDLL) -> None:
        call = library.routine_call
        call.restype, call.argtypes = ctypes.c_int, [ctypes.c_void_p] * 3
        self.workspace = int(ctypes.c_long.in_dll(library, "routine_workspace").value)
        self.native = call

    @cached_property
    def _key(self) -> str:
        return key_of("routine", self.function.serialize({}), emitter_text())

    def _source(self) -> str:
        return routine_text(trace(self.function), [self.function.size_out(0)])

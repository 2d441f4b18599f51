"""A compiled kernel: a library loaded by ctypes and called on NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

from .compiler import Library, QuickLibrary

OUT_OF_MEMORY = 2  # what a driver returns; 0 and 1 say whether all numbers are finite


class Native:
    """The driver ``NAME`` of one library; see ``emit.DRIVER`` for its arguments."""

    def __init__(
        self,
        library: Library,
        name: str,
        sizes: Sequence[int],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        self.library = library
        self.function = getattr(library, name)
        self.function.restype = ctypes.c_int
        self.sizes, self.shapes = tuple(sizes), list(shapes)
        self.counts = [int(np.prod(shape)) for shape in shapes]

    def batch(self, arrays: Sequence[np.ndarray], count: int) -> Sequence[np.ndarray]:
        """Results for ``count`` states."""
        return self.checked(arrays, count)[0]

    def checked(
        self,
        arrays: Sequence[np.ndarray],
        count: int,
        threads: int = 1,
        out: Sequence[np.ndarray] | None = None,
    ) -> tuple[Sequence[np.ndarray], bool]:
        """Results for ``count`` states, in ``out`` if given, and whether all are finite; each array
        has one row for each state, or one row for all."""
        arrays = [np.ascontiguousarray(array, dtype=float) for array in arrays]
        out = [np.empty((count, *shape)) for shape in self.shapes] if out is None else out
        inputs, outputs = _pointers(arrays), _pointers(out)
        steps = [array.shape[1] if len(array) > 1 else 0 for array in arrays]
        strides = (ctypes.c_long * max(1, len(arrays)))(*steps)

        def run(first: int, last: int) -> int:
            span = ctypes.c_long(first), ctypes.c_long(last)
            return self.function(*span, inputs, strides, outputs)

        return out, share(run, count, threads)


class Single:
    """One state with as little around the call as Python allows.

    ``places`` has for each argument its memory, the shape that a value for it must have, and its
    default (None if the argument is empty, so that there is nothing to write). After ``call`` the
    first result stands in ``result``. Only one thread at a time may use it.
    """

    def __init__(
        self, native: Native, name: str, defaults: Sequence[np.ndarray | float] = ()
    ) -> None:
        x, y = np.zeros(max(1, sum(native.sizes))), np.zeros(max(1, sum(native.counts)))
        zeros = [np.zeros(size) for size in native.sizes[len(defaults) :]]
        ends = np.cumsum(native.sizes)
        self.places = [
            (x[end - size : end], np.shape(default), default if size else None)
            for size, end, default in zip(native.sizes, ends, [*defaults, *zeros], strict=True)
        ]
        self.result = y[: native.counts[0]].reshape(native.shapes[0])
        self.expect(0)
        # so short a call keeps the interpreter's lock
        library = QuickLibrary(native.library._name, handle=native.library._handle)
        function = getattr(library, f"{name}_one")
        function.restype = ctypes.c_int
        self.call = functools.partial(function, _reference(x), _reference(y))

    def expect(self, given: int) -> None:
        """Be ready for calls with so many arguments: those after them are at their defaults."""
        for place, _, default in self.places[given:]:
            if default is not None:
                place[...] = default
        self.given = given


def share(
    run: Callable[[int, int], int], count: int, threads: int, stop: np.ndarray | None = None
) -> bool:
    """Run ``run(first, last)`` on all of ``count`` states, in as many parts as there are threads;
    whether all results are finite.

    stop: what ``run`` listens to; Control-C sets it, which this thread hears as others do the work.
    """
    threads = min(threads, max(1, count))
    spans = list(pairwise(count * k // threads for k in range(threads + 1)))
    own = spans[:1] if stop is None else []
    running = [pool().submit(run, *span) for span in spans[len(own) :]]
    try:
        while stop is not None and wait(running, timeout=0.2).not_done:
            pass  # a signal that another thread was given is heard in between
        told = {*(run(*span) for span in own), *(other.result() for other in running)}
    except BaseException:
        if stop is not None:
            stop[:] = 1
        wait(running)
        raise
    if OUT_OF_MEMORY in told:
        raise MemoryError("no memory for the workspace of a kernel")
    return told == {0}


def _reference(array: np.ndarray) -> Any:
    """The quickest way to hand over an address; it keeps the memory alive."""
    return ctypes.byref(ctypes.c_double.from_buffer(array.data))


def _pointers(arrays: Sequence[np.ndarray]) -> ctypes.Array[Any]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


@functools.cache
def pool() -> ThreadPoolExecutor:
    """The threads that share the chunks of a batch."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="mechgraph")


if hasattr(os, "register_at_fork"):  # a forked process has the pool but none of its threads
    os.register_at_fork(after_in_child=pool.cache_clear)

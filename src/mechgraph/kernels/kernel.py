"""``Kernel``: an expression graph as a function on NumPy arrays, in tiers that are chosen as the
work comes.

1. CasADi's interpreter: needs no compiler and starts at once.
2. Machine code: C printed by ``emit``, one state or several in the lanes of a vector register,
   compiled and cached.

A kernel begins in the interpreter unless its machine code is in the cache. When the time spent
interpreting reaches what compiling is expected to take, a compiler starts in the background, and
the kernel changes over when it is done. So short work never waits for a compiler and long work
always gets one. ``compile()`` forces the change and waits.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from weakref import WeakSet

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import whole
from ..errors import ArgumentError
from ..graph.program import trace, without_table_slopes
from .compiler import (
    CompilationFailure,
    find_cached,
    find_compiler,
    is_automatic,
    key_of,
    lanes,
    load,
    report,
)
from .emit import Printed, emitter_text, print_program, with_drivers
from .native import Native, Single

SECONDS_PER_OPERATION = 1 / 5_000  # of compiling, roughly
# for each operation, to learn the name under which machine code is cached
SECONDS_OF_LOOKUP = 1 / 500_000
# operations beyond which a kernel costs little more to compile if it repeats itself, as large ones
# do
LARGE = 20_000
# operations that may be printed for a compiler that starts by itself: more would take it minutes
AUTOMATIC = 100_000
# seconds of interpreting before equal values are searched for, which takes about as long
SEARCH = 0.05
FEW = 8  # states that are interpreted one by one
SINGLES = 4  # threads that can use ``quick`` of one kernel at the same time
# names of this module, not of another: ``quick`` looks them up in every call
ARRAY, FLOAT, NUMBER = np.ndarray, np.dtype(float), (float, int)


class Kernel:
    """A function of vectors: arrays with the vector as last axis in, arrays out; any leading axes
    are a batch.

    ``axes`` says for each result whether it is a number (0), a vector (1) or a matrix (2);
    ``names`` are the arguments' names in messages. ``defaults`` are for ``quick`` alone; one that
    is a number says that its argument is a number, not a vector of one.

    >>> x = SX.sym("x", 2)
    >>> square = Kernel("square", [x], [x * x], axes=[1])
    >>> square(np.array([[1.0, 2.0], [3.0, 4.0]]))
    [array([[ 1.,  4.],
           [ 9., 16.]])]
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[SX],
        results: Sequence[SX],
        axes: Sequence[int],
        defaults: Sequence[np.ndarray | float] = (),
        names: Sequence[str] = (),
    ) -> None:
        dense = [ca.densify(result) for result in results]
        self.function = without_table_slopes(ca.Function(name, list(arguments), dense))
        self.blocks = [result.shape for result in dense]
        self.shapes = [block[:count] for block, count in zip(self.blocks, axes, strict=True)]
        self.sizes = [argument.numel() for argument in arguments]
        self._last_axes = [(size,) for size in self.sizes]
        self.defaults, self.names = defaults, names
        self._tiers = {width: _Tier(self, width) for width in (1, lanes())}
        self._singles: list[Single] = []  # those that no thread is using
        self._printed: Printed | None = None
        # told of the function and the arguments where a result is not finite
        self.unanswered: Callable[[ca.Function, list[np.ndarray]], None] | None = None

    # --- calling ----------------------------------------------------------------------------------

    def __call__(
        self, *arguments: np.ndarray, threads: int = 1, out: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """The results; in the arrays ``out``, if given, which spares a large batch the cost of
        fresh memory."""
        arrays = [np.asarray(argument, dtype=float) for argument in arguments]
        batch = self._batch(arrays)
        count = int(np.prod(batch))
        if out is not None:
            self._check_out(out, batch)
        if count == 0:
            return [np.zeros((*batch, *shape)) for shape in self.shapes]
        rows = [_rows(array, batch, count) for array in arrays]
        (threads,) = whole(threads=threads)
        values, finite = self._evaluate(rows, count, threads, out)
        if not finite and self.unanswered is not None:
            bad = min(map(_first_unknown, values))
            self.unanswered(self.function, [row[min(bad, len(row) - 1)] for row in rows])
        if out is not None:
            return list(out)
        return [
            value.reshape((*batch, *shape))
            for value, shape in zip(values, self.shapes, strict=True)
        ]

    def _evaluate(
        self, rows: list[np.ndarray], count: int, threads: int, out: Sequence[np.ndarray] | None
    ) -> tuple[Sequence[np.ndarray], bool]:
        """Results for ``count`` states by the best tier that is ready, also in ``out`` if given,
        and whether all are finite."""
        native = self._tiers[lanes() if count > 1 else 1].native()
        if native is not None:
            return native.checked(rows, count, threads, out)
        values = self._interpret(rows, count)
        for array, value in zip(out or (), values, strict=False):
            array[...] = value.reshape(array.shape)
        return values, all(np.isfinite(value).all() for value in values)

    def _check_out(self, out: Sequence[np.ndarray], batch: tuple[int, ...]) -> None:
        wanted = [(*batch, *shape) for shape in self.shapes]
        fits = isinstance(out, (list, tuple)) and all(map(_is_writeable, out))
        if not fits or [array.shape for array in out] != wanted:
            raise ArgumentError(
                f"out must be writeable contiguous arrays of floats of the shapes {wanted}"
            )

    def _batch(self, arrays: list[np.ndarray]) -> tuple[int, ...]:
        """The leading axes of a call."""
        if [array.shape[-1:] for array in arrays] != self._last_axes:
            got = self._named_shapes(arrays)
            raise ArgumentError(f"expected last axes {self._last_axes}, got {got}")
        try:
            return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        except ValueError:
            got = self._named_shapes(arrays)
            raise ArgumentError(f"the leading axes do not fit together: {got}") from None

    def _named_shapes(self, arrays: list[np.ndarray]) -> str:
        names = [*self.names, *(f"argument {k}" for k in range(len(self.names), len(arrays)))]
        return ", ".join(
            f"{name} {array.shape}" for name, array in zip(names, arrays, strict=False)
        )

    def quick(self, *arguments: object) -> np.ndarray | None:
        """The first result for one state, by machine code and in about two microseconds.

        Arguments that are None or left out at the end take their defaults. It returns None if there
        is no machine code yet, if an argument is not a plain vector of floats (or a number, where
        the default is a number), or if a number is not finite. Then the kernel is to be called in
        the ordinary way, which reads more and says what is wrong.
        """
        try:
            single = self._singles.pop()  # nobody else can have it now
        except IndexError:
            return None
        try:
            if len(arguments) != single.given:
                single.expect(len(arguments))
            for (place, shape, default), value in zip(single.places, arguments):  # noqa: B905 (slow)
                if value is None:
                    if default is not None:
                        place[...] = default
                elif type(value) is ARRAY and value.dtype is FLOAT and value.shape == shape:
                    place[...] = value
                elif shape == () and isinstance(value, NUMBER):
                    place[0] = value
                else:
                    return None
            return None if single.call() else single.result.copy()
        finally:
            self._singles.append(single)

    @cached_property
    def digest(self) -> str:
        """A hash of the function."""
        return hashlib.sha256(self.function.serialize({}).encode()).hexdigest()

    def printed(self, limit: int | None = None) -> Printed:
        """The C text that is the same for all widths; it is stored for the next one."""
        if self._printed is None:
            self._printed = print_program(trace(self.function), "kernel", self.blocks, limit)
        return self._printed

    def forget_text(self) -> None:
        """Drop the stored C text once all widths are compiled."""
        if all(tier.ready is not None for tier in self._tiers.values()):
            self._printed = None

    @property
    def _interpreted(self) -> ca.Function:
        """The function for the interpreter; equal values are searched for when it has been used
        for a while, unless the search would take seconds."""
        spent = sum(tier.spent for tier in self._tiers.values())
        if spent < SEARCH or self.function.n_instructions() > AUTOMATIC:
            return self.function
        return self._shared

    @cached_property
    def _shared(self) -> ca.Function:
        """The function with equal values computed once."""
        arguments, name = self.function.sx_in(), self.function.name()
        return ca.Function(name, arguments, self.function.call(arguments), {"cse": True})

    def _interpret(self, rows: list[np.ndarray], count: int) -> list[np.ndarray]:
        began = time.perf_counter()
        together = count > FEW
        values = (
            self._interpret_batch(rows, count) if together else self._interpret_few(rows, count)
        )
        self._tiers[lanes() if count > 1 else 1].spent += time.perf_counter() - began
        return values

    def _interpret_few(self, rows: list[np.ndarray], count: int) -> list[np.ndarray]:
        """State by state, from arrays into arrays: CasADi's own matrices would take longer."""
        buffer, evaluate = self._interpreted.buffer()
        given = [np.zeros(size) for size in self.sizes]
        found = [np.zeros(block[::-1]) for block in self.blocks]  # column by column
        for k, array in enumerate(given):
            buffer.set_arg(k, array.data)
        for k, array in enumerate(found):
            buffer.set_res(k, array.data)
        values = [np.empty((count, *block)) for block in self.blocks]
        for state in range(count):
            for array, row in zip(given, rows, strict=True):
                array[...] = row[state if len(row) > 1 else 0]
            evaluate()
            for value, array in zip(values, found, strict=True):
                value[state] = array.T
        return values

    def _interpret_batch(self, rows: list[np.ndarray], count: int) -> list[np.ndarray]:
        columns = [ca.DM(np.broadcast_to(row, (count, row.shape[1])).T) for row in rows]
        outputs = self._interpreted.call(columns)
        stacks = (
            np.array(out).reshape(block[0], count, block[1])
            for out, block in zip(outputs, self.blocks, strict=True)
        )
        return [np.ascontiguousarray(np.moveaxis(stack, 1, 0)) for stack in stacks]

    def take(self, native: Native) -> None:
        """Make machine code for single states ready for several threads."""
        for _ in range(SINGLES):
            self._singles.append(Single(native, "kernel", self.defaults))

    # --- tiers ------------------------------------------------------------------------------------

    def compile(self, batch: bool = True) -> bool:
        """Change over to machine code now; False if there is no compiler."""
        done = [self._tiers[width].force() for width in ({1, lanes()} if batch else {1})]
        return all(done)

    @property
    def tier(self) -> str:
        """The tier that evaluates single states now."""
        return "machine code" if self._tiers[1].ready is not None else "interpreter"


class _Tier:
    """Machine code of one width, made when it is worth while."""

    def __init__(self, kernel: Kernel, width: int) -> None:
        self.kernel, self.width = kernel, width
        self.ready: Native | None = None
        self.spent = 0.0
        self._state = "cold"  # cold → looked up → compiling → done (or failed)
        self._lock = threading.Lock()
        _tiers.add(self)

    def native(self) -> Native | None:
        """The machine code, None if it is not there; the compiler is started if that has become
        worth while."""
        if self.ready is None and self._state in ("cold", "looked up") and is_automatic():
            self._consider()
        return self.ready

    def _consider(self) -> None:
        """Look for the machine code in the cache, and start the compiler in the background, each
        when the time that was spent interpreting pays for it."""
        size = self.kernel.function.n_instructions()
        if self._state == "cold" and (size <= LARGE or self.spent > SECONDS_OF_LOOKUP * size):
            self._state = "looked up" if find_compiler() is not None else "failed"
            if self._state == "looked up" and find_cached(self.key) is not None:
                self.force()
        if self._state == "looked up" and self.spent > SECONDS_PER_OPERATION * min(size, LARGE):
            self._state = "compiling"
            threading.Thread(target=self.force, args=[AUTOMATIC], daemon=True).start()

    def force(self, limit: int | None = None) -> bool:
        """Load or build the machine code and wait for it, unless more operations than the limit
        would have to be printed; True if it is there."""
        with self._lock:
            if self.ready is None and find_compiler() is not None:
                try:
                    library = load(self.key, lambda: self.source(limit))
                    self._take(Native(library, "kernel", self.kernel.sizes, self.kernel.shapes))
                except CompilationFailure as failure:
                    self._state = "failed"
                    report(failure)
        return self.ready is not None

    def forget_threads(self) -> None:
        """Begin anew in a forked process, where nobody holds the lock and nobody is compiling."""
        self._lock = threading.Lock()
        self._state = "looked up" if self._state == "compiling" else self._state

    def _take(self, native: Native) -> None:
        if self.width == 1:
            self.kernel.take(native)
        self.ready, self._state = native, "done"
        self.kernel.forget_text()

    @cached_property
    def key(self) -> str:
        """The name in the cache: everything that decides the code, taken from the function itself
        so that what is cached need not be printed."""
        return key_of(self.kernel.digest, str(self.width), emitter_text())

    def source(self, limit: int | None = None) -> str:
        """The C text."""
        return with_drivers(self.kernel.printed(limit), self.width)


_tiers: WeakSet[_Tier] = WeakSet()


def _forget_threads() -> None:
    for tier in list(_tiers):
        tier.forget_threads()


# a forked process has the locks but none of the threads that would release them
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _is_writeable(array: object) -> bool:
    """Whether machine code can write results into it."""
    if type(array) is not np.ndarray or array.dtype != FLOAT:
        return False
    return array.flags.c_contiguous and array.flags.writeable


def _first_unknown(values: np.ndarray) -> int:
    """The first state with a number that is not finite; their count, if there is none."""
    known = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    return len(known) if known.all() else int(known.argmin())


def _rows(array: np.ndarray, batch: tuple[int, ...], count: int) -> np.ndarray:
    """An argument with one row for each state, or with one row for all."""
    size = array.shape[-1]
    if array.size == size:
        return array.reshape(1, size)
    return np.broadcast_to(array, (*batch, size)).reshape(count, size)

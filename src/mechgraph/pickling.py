"""Pickling of what holds expressions and functions: expressions keep their symbols, and a user's
functions travel by value where they have no module to be found in again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

import casadi as ca
import cloudpickle

_here = local()  # whether this thread is inside of a pickle already


class Picklable:
    """Base of objects that pickle as a whole: all expressions inside share their symbols."""

    def __reduce__(self) -> tuple[Any, ...]:
        if getattr(_here, "inside", False):
            return _made, (type(self),), self.__getstate__()
        with _inside(), ca.global_pickle_context():
            return _opened, (type(self), cloudpickle.dumps(self.__getstate__()))


@contextmanager
def _inside() -> Iterator[None]:
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False


def _made(cls: type) -> Any:
    return object.__new__(cls)


def _opened(cls: type, blob: bytes) -> Any:
    made = _made(cls)
    with ca.global_unpickle_context():
        vars(made).update(cloudpickle.loads(blob))
    return made

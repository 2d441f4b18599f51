"""Pickling of what holds expressions and functions: expressions keep their symbols, and a user's
functions travel by value where they have no module to be found in again."""

from __future__ import annotations

from typing import Any

import casadi as ca
import cloudpickle


class Picklable:
    """Base of objects that pickle as a whole: all expressions inside share their symbols."""

    def __reduce__(self) -> tuple[Any, ...]:
        state = getattr(self, "__getstate__", lambda: vars(self))()
        with ca.global_pickle_context():
            return _restored, (type(self), cloudpickle.dumps(state))


def _restored(cls: type, blob: bytes) -> Any:
    made: Any = object.__new__(cls)
    with ca.global_unpickle_context():
        vars(made).update(cloudpickle.loads(blob))
    return made

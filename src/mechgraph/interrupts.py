"""Control-C, wherever it comes.

CasADi's wrapper loses a KeyboardInterrupt, or makes another error of it, if it comes while the
wrapper looks at its arguments. What takes long remembers that it was asked to stop.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Control-C was pressed."""

    pressed = False

    def check(self) -> None:
        """Raise the KeyboardInterrupt that was lost."""
        if self.pressed:
            raise KeyboardInterrupt


@contextmanager
def remembered_interrupts() -> Iterator[Interrupts]:
    """Remember Control-C, which also does what it does elsewhere. Other threads hear of none. An
    error that CasADi's wrapper has made of it is a KeyboardInterrupt again."""
    with _noticed(at_once=True) as found:
        try:
            yield found
        except NotImplementedError:
            found.check()
            raise


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let Control-C wait until this is done."""
    with _noticed(at_once=False) as found:
        yield
    found.check()


@contextmanager
def _noticed(at_once: bool) -> Iterator[Interrupts]:
    found, before = Interrupts(), signal.getsignal(signal.SIGINT)

    def notice(number: int, frame: FrameType | None) -> None:
        found.pressed = True
        if at_once:
            before(number, frame)  # type: ignore[operator,misc]

    heard = callable(before) and threading.current_thread() is threading.main_thread()
    if heard:
        signal.signal(signal.SIGINT, notice)
    try:
        yield found
    finally:
        if heard:
            signal.signal(signal.SIGINT, before)

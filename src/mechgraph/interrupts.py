"""Control-C, wherever it comes.

CasADi's wrapper loses a KeyboardInterrupt, or makes another error of it, if it comes while the
wrapper looks at its arguments. What takes long remembers that it was asked to stop, and raises
what was lost again.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN = 0.2  # seconds after which one that nobody has taken note of comes again


class Interrupts:
    """Tells if Control-C was pressed."""

    pressed = False

    def check(self) -> None:
        """Raise the KeyboardInterrupt that was lost."""
        if self.pressed:
            raise KeyboardInterrupt


class _Waiting:
    """The KeyboardInterrupt that nobody has taken note of yet. A thread of its own asks for it
    again and again; the lock keeps it from asking for one when it no longer waits."""

    def __init__(self) -> None:
        self.waits = self.due = self.asking = False
        self.depth = self.insisting = 0
        self._lock = threading.Lock()

    def enter(self, insist: bool) -> None:
        """A context is opened."""
        if not self.depth:
            self.due = False
        self.depth += 1
        self.insisting += insist

    def leave(self, insist: bool) -> None:
        """A context is left; after the outermost nothing comes."""
        self.insisting -= insist
        self.depth -= 1
        if not self.depth:
            self.end()

    def begin(self) -> None:
        self.waits = True
        if not self.asking:
            self.asking = True
            _thread.start_new_thread(self._ask, ())  # takes no lock, unlike threading.Thread

    def end(self) -> None:
        with self._lock:
            self.waits = False

    def check(self) -> None:
        if self.waits:
            raise KeyboardInterrupt

    def _ask(self) -> None:
        while True:
            time.sleep(AGAIN)
            with self._lock:
                if not self.waits:
                    self.asking = False
                    return
                self.due = True
                _thread.interrupt_main()


_waiting = _Waiting()


def acknowledge() -> None:
    """Say that an outcome was made of Control-C: it does not come again, unless one insists."""
    if _is_main() and not _waiting.insisting:
        _waiting.end()


class _Listener:
    """The handler of Control-C while a context is open. Muted, it only notes that it came."""

    def __init__(self, before: Any, found: Interrupts) -> None:
        self.before, self.found = before, found
        self.muted, self.late = True, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _waiting.due:
            self._hear_again()
            return
        self.found.pressed = True
        if self.muted:
            self.late = True
            return
        try:
            self.before(number, frame)
        except KeyboardInterrupt:
            _waiting.begin()
            raise

    def _hear_again(self) -> None:
        _waiting.due = False
        if _waiting.waits and not self.muted and not _is_dealt_with():
            self.found.pressed = True
            raise KeyboardInterrupt

    def make_up(self) -> None:
        """For what came while it was muted."""
        if self.late:
            self.late = False
            signal.raise_signal(signal.SIGINT)


@contextmanager
def remembered_interrupts(insist: bool = False) -> Iterator[Interrupts]:
    """Remember Control-C, which also does what it does elsewhere. Other threads hear of none.

    One that is lost inside is raised again, until the outermost of these contexts is left or
    somebody calls ``acknowledge``; an error that was made of it is a KeyboardInterrupt again.
    insist: do so even if an outcome was made of it inside.
    """
    found, before = Interrupts(), signal.getsignal(signal.SIGINT)
    if not (callable(before) and _is_main()):
        yield found
        return
    listener = _Listener(before, found)
    signal.signal(signal.SIGINT, listener)
    _waiting.enter(insist)
    try:
        listener.muted = False
        listener.make_up()
        yield found
        _waiting.check()
    except Exception:
        _waiting.check()
        raise
    finally:
        listener.muted = True  # or what is put back here might not be
        _waiting.leave(insist)
        signal.signal(signal.SIGINT, before)
        listener.make_up()


@contextmanager
def ending_interrupts() -> Iterator[None]:
    """Let Control-C end this, and no more than this."""
    try:
        with remembered_interrupts():
            yield
    except KeyboardInterrupt:
        acknowledge()


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let Control-C wait until this is done."""
    before = signal.getsignal(signal.SIGINT)
    if not (callable(before) and _is_main()):
        yield
        return
    listener = _Listener(before, Interrupts())
    signal.signal(signal.SIGINT, listener)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        listener.make_up()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_dealt_with() -> bool:
    """True if what runs now cleans up after a KeyboardInterrupt, or answers it."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None

"""Control-C is not lost, wherever it comes."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import pytest

import mechgraph as mg
from mechgraph.interrupts import held_interrupts, remembered_interrupts


def swallow() -> None:
    """As CasADi's wrapper does."""
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _listening():
    """In what runs in the background nobody listens."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_an_interrupt_that_was_swallowed_stops_the_run():
    s = mg.System("pushed")
    s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x")
    s.torque("push", "x", s.input("F"))

    def push(t: float) -> float:
        if t > 3:
            swallow()
        return 1.0

    run = s.equations().simulate(1e6, inputs={"F": push}, step=1.0, max_step=1e-3)
    assert run.outcome == "interrupted"
    assert 0 < run.time[-1] < 1e5


def test_an_error_that_was_made_of_it_is_an_interrupt_again():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts():
        swallow()
        raise NotImplementedError("Wrong number or type of arguments")
    with pytest.raises(NotImplementedError), remembered_interrupts():
        raise NotImplementedError


def test_an_interrupt_waits_for_what_must_not_be_broken_off():
    done = []
    with pytest.raises(KeyboardInterrupt), held_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done


def test_other_threads_simulate_too():
    s = mg.System("falling", gravity=(0, 0, -9.81))
    s.prismatic("z", s.ground, s.body("m", mass=2.0, inertia=0), axis="z")
    runs: list[mg.Trajectory] = []
    thread = threading.Thread(target=lambda: runs.append(s.equations().simulate(1.0)))
    thread.start()
    thread.join()
    assert runs[0].outcome == "finished"

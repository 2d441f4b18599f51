"""Control-C is not lost, wherever it comes."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import mechgraph as mg
from mechgraph import cli, equations
from mechgraph.interrupts import AGAIN, acknowledge, held_interrupts, remembered_interrupts


def swallow() -> None:
    """As CasADi's wrapper does."""
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def go_on(seconds: float = 3 * AGAIN) -> None:
    """Python at work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


def pendulum() -> mg.System:
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    s.revolute("angle", s.ground, s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0), axis="y")
    return s


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


def test_one_that_was_lost_comes_again():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts() as found:
        for _ in range(3):
            with suppress(KeyboardInterrupt):
                if not found.pressed:
                    signal.raise_signal(signal.SIGINT)
                go_on(60)
                pytest.fail("it did not come again")
        go_on(60)
        pytest.fail("it came thrice, no more")
    go_on()  # nothing comes here


def test_one_that_was_lost_just_before_the_end_comes_there():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts():
        swallow()
    with pytest.raises(KeyboardInterrupt), remembered_interrupts():
        swallow()
        raise ValueError("what was made of it")


def test_one_that_passed_an_inner_context_and_was_lost_then_comes_again():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts() as outer:
        with suppress(KeyboardInterrupt), remembered_interrupts() as inner:
            signal.raise_signal(signal.SIGINT)
        assert inner.pressed
        assert outer.pressed
        go_on(60)
        pytest.fail("it did not come again")


def test_one_that_was_taken_note_of_does_not_come_again():
    with remembered_interrupts() as found:
        for _ in range(2):
            swallow()
            acknowledge()
            go_on()
    assert found.pressed
    go_on()


def test_who_insists_hears_of_it_though_an_outcome_was_made_of_it():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts(insist=True):
        swallow()
        acknowledge()
        go_on(60)
        pytest.fail("it did not come again")


def test_who_deals_with_it_is_left_in_peace():
    done = []
    with pytest.raises(KeyboardInterrupt), remembered_interrupts():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            try:
                raise ValueError  # an error while it is dealt with
            except ValueError:
                go_on()
            done.append(1)
    assert done


def test_a_handler_that_raises_nothing_is_asked_once():
    asked = []
    before = signal.signal(signal.SIGINT, lambda *_: asked.append(1))
    try:
        with remembered_interrupts() as found:
            signal.raise_signal(signal.SIGINT)
            go_on()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (asked, found.pressed) == ([1], True)


def test_one_that_had_to_wait_is_known_outside():
    with pytest.raises(KeyboardInterrupt), remembered_interrupts() as found:  # noqa: SIM117
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
    assert found.pressed


def test_derivations_do_not_lose_it(monkeypatch):
    eqs, derived = pendulum().equations(), equations.derive_terms

    def lossy(*arguments, **options):
        swallow()
        return derived(*arguments, **options)

    def results():
        swallow()
        return [eqs.terms.M]

    with pytest.raises(KeyboardInterrupt):
        eqs.numeric.kernel("lossy", results, [2])
    with pytest.raises(KeyboardInterrupt):
        eqs.numeric.keep("lossy", results)
    monkeypatch.setattr(equations, "derive_terms", lossy)
    with pytest.raises(KeyboardInterrupt):
        pendulum().equations()


OWN = """
import signal
import mechgraph as mg

def system():
    s = mg.System("own")
    s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x")
    s.torque("push", "x", s.input("F"))
    return s

def push(t):
    if t > 0.3:
        signal.raise_signal(signal.SIGINT)
    return 0.0

def check():
    run = system().equations().simulate(1.0, inputs={"F": push}, step=0.1)
    WHAT
    return {"x": run["x"][-1]}

figures = check
OPTIONS = {"inputs": {"F": push}, "step": 0.1}
"""


@pytest.mark.parametrize("command", ["gallery", "figures"])
@pytest.mark.parametrize("what", ["pass", "run.q[10]", "assert len(run) == 11", "exit()"])
def test_a_command_with_a_run_that_was_interrupted_inside_ends_with_130(command, what, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN.replace("WHAT", what))
    result = CliRunner().invoke(cli.main, [command, str(path)])
    assert result.exit_code == 130, result.output
    assert result.output.endswith("interrupted\n")
    assert "bounds" not in result.output


def test_an_interrupted_run_is_written_in_peace(tmp_path: Path, monkeypatch):
    path, out, save = tmp_path / "own.py", tmp_path / "run.npz", mg.Trajectory.save

    def slow(*arguments):
        go_on()
        return save(*arguments)

    monkeypatch.setattr(mg.Trajectory, "save", slow)
    path.write_text(OWN)
    result = CliRunner().invoke(cli.main, ["run", str(path), "--duration", "1", "--out", str(out)])
    assert result.exit_code == 130, result.output
    assert mg.load_run(out).outcome == "interrupted"


def test_a_command_does_not_lose_it(tmp_path: Path):
    path = tmp_path / "own.py"
    lossy = "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n"
    path.write_text(f"{OWN}\n{lossy}")
    result = CliRunner().invoke(cli.main, ["describe", str(path)])
    assert result.exit_code == 130, result.output


def test_other_threads_simulate_too():
    s = mg.System("falling", gravity=(0, 0, -9.81))
    s.prismatic("z", s.ground, s.body("m", mass=2.0, inertia=0), axis="z")
    runs: list[mg.Trajectory] = []
    thread = threading.Thread(target=lambda: runs.append(s.equations().simulate(1.0)))
    thread.start()
    thread.join()
    assert runs[0].outcome == "finished"


@pytest.mark.parametrize("threads", [1, 2])
def test_rollouts_stop(threads):
    eqs = pendulum().equations()
    eqs.rollout([0.1], [0.0], step=1e-3, steps=2)  # compiled before
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    began = time.process_time()  # the whole takes minutes of it
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        eqs.rollout([[0.1]] * 50, [0.0], step=1e-6, steps=10_000_000, every=10**6, threads=threads)
    assert time.process_time() - began < 5

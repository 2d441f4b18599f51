"""A bounded part of the campaign, and the fuzzer itself: what it prints is what it ran, and it
notices what must not be. ``make fuzz`` goes on for hours."""

from __future__ import annotations

import numpy as np
import pytest

import campaign
import mechgraph as mg
from campaign import Failure, examine
from models import SKELETONS, random_model
from worker import Worker

SEEDS = (
    1,
    2,
    3,
    4,
    5,
    7,
    9,
    900001,
)  # of the last, Maggi took speeds of a closing the wrong way round
RUNS = range(10, 15)
ROLLING = (3, 4, 38, 100)  # of the last two no speeds were found once
COLLIDERS = (*range(8), 8, 10, 32, 52)  # the last four once failed


@pytest.fixture(scope="module")
def worker():
    worker = Worker(examine, seconds=120)
    yield worker
    worker.close()


def failures(worker: Worker, seed: int, question: str) -> str:
    found = worker.examine(seed, question)
    return "\n\n".join(f"{each.kind}\n{each.program}" for each in found if each.is_failure)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_models(worker, seed):
    for question in ("described", "assembled", "agrees", "answers", campaign.TERMS):
        told = failures(worker, seed, question)
        assert not told, told


@pytest.mark.slow
@pytest.mark.parametrize("seed", RUNS)
def test_random_runs(worker, seed):
    told = failures(worker, seed, "runs")
    assert not told, told


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", COLLIDERS)
def test_random_colliders(worker, seed):
    told = failures(worker, seed, campaign.COLLIDES)
    assert not told, told


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", ROLLING)
def test_systems_that_are_not_holonomic(worker, seed):
    """In points, and in nodes in a plane, as in joint coordinates; none of these is refused."""
    found = worker.examine(seed, campaign.ROLLS)
    assert not found, found[0].program


# --- the fuzzer itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2 * len(SKELETONS)))
def test_a_program_is_its_model(seed):
    """To the last bit, and said in another order, too, the same system."""
    model, space = random_model(seed), {}
    exec(model.program, space)
    here, there = model.system.equations(), space["s"].equations()
    q = [model.configuration[name] for name in here.coordinates]
    assert here.coordinates == there.coordinates
    assert np.array_equal(here.mass_matrix(q, model.t), there.mass_matrix(q, model.t))
    zero = np.zeros(len(here.speeds))
    assert np.array_equal(here.forces(q, zero, model.t), there.forces(q, zero, model.t))
    exec(model.shuffled(), space)
    assert set(space["s"].equations().system.bodies) == set(model.system.bodies)
    assert {*space["s"].joints, *space["s"].forces} == {*model.system.joints, *model.system.forces}


def test_models_repeat():
    assert random_model(7).program == random_model(7).program != random_model(12).program


@pytest.mark.parametrize(
    ("error", "kind", "is_failure"),
    [
        (ZeroDivisionError("of 3 by 0"), "raw ZeroDivisionError: of # by #", True),
        (mg.ArgumentError("no joint 'a'"), "ArgumentError: no joint …", False),
        (Failure("off the constraints", 0.3), "off the constraints", True),
    ],
)
def test_errors_of_ours_are_answers_and_others_are_not(monkeypatch, error, kind, is_failure):
    def question(model, script):
        script.do("answer = 41 + 1")
        raise error

    monkeypatch.setitem(campaign.QUESTIONS, "answers", question)
    (found,) = examine(0, "answers", lambda text: None)
    assert (found.kind, found.is_failure) == (f"answers: {kind}", is_failure)
    assert found.program.splitlines()[-2] == "answer = 41 + 1"


def test_wrong_numbers_are_noticed(monkeypatch):
    """A closure that is off by a millionth."""
    closure = mg.CLOSURES["null-space"]

    class Off(type(closure)):
        def solution(self, *arguments):
            found = super().solution(*arguments)
            return found._replace(udot=found.udot * (1 + 1e-6))

    off = Off(closure.factor, closure.expression)
    monkeypatch.setitem(mg.CLOSURES, "null-space", off)
    (found,) = (each for each in examine(2, "agrees", lambda text: None) if each.is_failure)
    assert "disagreement in accelerations" in found.kind


def test_what_takes_too_long_is_ended_and_told():
    worker = Worker(examine, seconds=0.2)
    try:
        (found,) = worker.examine(2, "agrees")
        assert "no end" in found.kind
        worker.seconds = 120
        assert not [each for each in worker.examine(2, "described") if each.is_failure]
    finally:
        worker.close()

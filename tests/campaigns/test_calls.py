"""A seeded sample of wrong calls, in every test run; ``python tests/campaigns/calls.py`` tries
all."""

from __future__ import annotations

from pathlib import Path

import pytest

import calls


def test_right_calls_are_right(tmp_path: Path) -> None:
    """Or else nothing is learned from the wrong ones."""
    for call, given in calls.calls_in(tmp_path).values():
        if not calls.alone(given):
            call(**given)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_an_argument_is_by_mistake_the_error_is_of_the_family(seed: int) -> None:
    assert list(calls.failures(600, seed)) == []

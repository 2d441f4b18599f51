"""A sample of the invariance campaign."""

from __future__ import annotations

import pytest

from invariance import TELLINGS, differences, plan

EVERY = 5  # of the ways of telling, another fifth for each seed


@pytest.mark.parametrize("seed", range(10))
def test_decisions_do_not_depend_on_how_a_system_is_told(seed):
    assert list(differences(plan(seed), TELLINGS[seed % EVERY :: EVERY])) == []

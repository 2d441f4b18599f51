"""The tolerances of the runtime in C are those of ``numerics/tolerances.py``."""

from __future__ import annotations

import re

import pytest

from mechgraph.numerics import tolerances
from mechgraph.runtime.build import FOLDER

DECLARED = re.compile(r"(\w+) = ([0-9.e-]+)")
NAMED = re.compile(r"\b[A-Z_]+ = [0-9.]+e-[0-9]+")


def test_both_languages_have_the_same():
    declared = dict(DECLARED.findall((FOLDER / "tolerances.h").read_text(encoding="utf-8")))
    assert declared
    expected = {name: getattr(tolerances, name) for name in declared}
    assert {name: float(value) for name, value in declared.items()} == pytest.approx(expected)


def test_contacts_have_none_of_their_own():
    for path in (FOLDER / "contacts").glob("*.[ch]"):
        assert not NAMED.findall(path.read_text(encoding="utf-8")), path

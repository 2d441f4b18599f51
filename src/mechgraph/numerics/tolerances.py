"""The tolerances that all rooms share, each derived from the precision of the machine.

They are relative: to the terms that a number is made of, or to a scale (``scales``). A number
without a scale is compared with nothing but zero.
"""

from __future__ import annotations

import numpy as np

EPSILON = float(np.finfo(float).eps)
"""Rounding of one operation, 2.2e-16."""

TINY = 1e-300
"""Added where 0/0 has to be 0: far below what any system of units makes of a number, and its root
is a number as well."""

NOTHING = TINY**0.5
"""Added, beside one, to what is divided by, so that quotients and their squares are numbers."""

SMOOTH = EPSILON**2
"""Added to a sum of squares, beside one, so that its root has a slope at zero: it changes no digit
of a length above the root of rounding, and bends what is shorter than rounding."""

ROUNDING = 1e-14
"""Rest of terms that cancel, beside the terms, 45 ε: the errors of n operations in a
row add up as a random walk, ε √n, and an entry is made of some 2,000 of them."""

MET = 100 * ROUNDING
"""Rest of rows in scale that were solved for: their rounding, times the hundred by
which directions that count as independent, at ordinary states, are held less well than the best."""

GIVEN = 1e-9
"""Difference of numbers that are meant to be equal (unit vectors, lengths, times on a grid): this
program meets states to MET, but people, files and other programs give ten digits, so that 1e-10 is
left, and ten times that where a few of them are combined."""

RANK = GIVEN
"""Singular values below this fraction of the largest count as zero: what is left of a row that
holds by itself, at states that were given with ten digits."""

FADING = ROUNDING / RANK
"""Length of a row, beside its usual one, below which it is no longer made of length one: with this
a row of mere rounding has the length RANK, and counts as zero."""

PROXIMAL = ROUNDING / MET ** (1 / 3)
"""Part of A M⁻¹Aᵀ that is added to its diagonal, 1e-10, so that dependent rows have a pivot as
well. It is known to ROUNDING, so that each proximal iteration leaves ROUNDING/PROXIMAL of the
error: three of them meet the rows to MET."""

KNOWN = 1e-6
"""Relative error of a result that has to be told: six digits are what people and plots look at, and
what files of robots give."""

WELL_HELD = 1e-3
"""Part of the best pivot with which another is taken if it is simpler: it costs three digits of
sixteen, and leaves twice as many as KNOWN asks for."""

UNKNOWN = 1e-2
"""Relative error of a result that leaves nothing worth telling: less than two digits."""

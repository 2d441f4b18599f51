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

ROUNDING = 1e-14
"""What may be left of terms that cancel, beside the terms, 45 ε: the errors of n operations in a
row add up as a random walk, ε √n, and an entry is made of some 2,000 of them."""

RANK = 1e-9
"""Singular values below this fraction of the largest count as zero. States are met to about
ROUNDING by this program, but given by people, files and other programs with ten digits, so that
1e-10 is left of a row that holds by itself; ten times that is no constraint."""

FADING = ROUNDING / RANK
"""Length of a row, beside its usual one, below which it is no longer made of length one: with this
a row of mere rounding has the length RANK, and counts as zero."""

KNOWN = 1e-6
"""Relative error of a result that has to be told: six digits are what people and plots look at."""

UNKNOWN = 1e-2
"""Relative error of a result that leaves nothing worth telling: less than two digits."""

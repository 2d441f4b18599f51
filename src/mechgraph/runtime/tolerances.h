/* The tolerances of numerics/tolerances.py, by the same names; tests/runtime/test_tolerances.py compares them. */
#ifndef TOLERANCES
#define TOLERANCES
static const double EPSILON = 2.220446049250313e-16, TINY = 1e-300, ROUNDING = 1e-14, MET = 1e-12, GIVEN = 1e-9;
static const double RANK = 1e-9, FADING = 1e-5, KNOWN = 1e-6, WELL_HELD = 1e-3;
#endif

"""Tables: functions given by points, as expressions that cost a search of log n.

Between two neighbouring knots a table is a polynomial about the lower one, y = c₀ + c₁ h + c₂ h² …
with h = x − origin. What finds the piece is one call in the expression graph, the *search*: from x
it gives the number of the piece, its origin and its coefficients. The polynomial itself is written
with ordinary operations. A search is constant between knots, so its derivatives are zero, and those
of the table are those of the polynomials: exact, to any order.
"""

from .constructors import spline, table
from .grid import Grid
from .table import Table

__all__ = ["Grid", "Table", "spline", "table"]

"""The graph of operations behind every expression: one program, one table of operations, one walk.

``trace`` reads a CasADi function as a ``Program``: a list of operations, each of them once.
``Program.evaluate`` walks it on an ``Algebra``, which says what numbers, inputs, operations and
tables are: expressions, arrays, SymPy, or text of some language.
"""

from .program import Program, trace

__all__ = ["Program", "trace"]

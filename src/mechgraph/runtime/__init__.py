"""Between two outputs of a run, in C: integrators, event location, impacts and modes of contacts.

The C knows no model: it takes functions by pointer, which are interpreted at first and machine code
as soon as there is some. It is built with the package (``build.py``), and printed into FMUs.
"""

"""Pytest reads the website's modules only where what they import is installed (``make docs``)."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("mkdocs") else ["docstrings.py", "website.py"]

"""The compiled runtime, and its structures as its headers declare them."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

import numpy as np

from .build import FOLDER, LIBRARY, digest

STRUCTURE = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"(?:const )?(double complex|\w+) (.*)", re.DOTALL)
DECLARATOR = re.compile(r"(\*?)(\w+)(?:\[(\d+)\])?$")

POINTER = ctypes.c_void_p
NUMBERS = {"long": ctypes.c_long, "double": ctypes.c_double, "int": ctypes.c_int}
WHOLE = np.dtype(ctypes.c_long)  # of arrays of the C type long


class OutOfDate(ImportError):
    """There is no runtime, or one of other sources."""


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled runtime, if it is that of the sources beside it."""
    build = f"build it: `python hatch_build.py` in the repository, or `pip install` it ({LIBRARY})"
    try:
        found = ctypes.CDLL(str(LIBRARY))
        made_of = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(found, "runtime_digest")))
    except (OSError, ValueError) as error:
        raise OutOfDate(f"mechgraph's runtime is not there or cannot be loaded; {build}") from error
    if made_of.decode() != digest():
        raise OutOfDate(f"mechgraph's runtime was made of other sources than these; {build}")
    return found


@functools.cache
def structure(name: str) -> type[ctypes.Structure]:
    """A structure of the headers, with the fields that are declared there."""
    return structures()[name]


@functools.cache
def structures() -> dict[str, type[ctypes.Structure]]:
    """All of them; what is no number and none of these is a pointer to a function."""
    found: dict[str, type[ctypes.Structure]] = {}
    for header in ("steps/run.h", "contacts/contacts.h"):
        text = COMMENT.sub("", (FOLDER / header).read_text(encoding="utf-8"))
        for body, name in STRUCTURE.findall(text):
            declared = [line.strip() for line in body.split(";") if line.strip()]
            fields = [field for line in declared for field in _fields(line, found)]
            found[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return found


def _fields(declaration: str, known: dict[str, type[ctypes.Structure]]) -> list[tuple[str, type]]:
    """Names and types of one declaration: ``const double *a, *b``, ``long n, side[2]``."""
    kind, names = DECLARATION.fullmatch(declaration).groups()  # type: ignore[union-attr]
    base: Any = NUMBERS.get(kind) or known.get(kind) or POINTER
    fields: list[tuple[str, type]] = []
    for each in names.split(","):
        star, name, count = DECLARATOR.fullmatch(each.strip()).groups()  # type: ignore[union-attr]
        own = POINTER if star else base
        fields.append((name, own * int(count) if count else own))
    return fields

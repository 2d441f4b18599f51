"""Writes ``element_methods.pyi``: the methods of the builder as editors and type checkers see them.

python -m mechgraph.model.element_stub
"""

from __future__ import annotations

import builtins
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import bodies, fields, joint_options, joints
from .builder_calls import words
from .contact import friction
from .element_methods import ElementMethods
from .elements import rope

FILE = Path(__file__).with_name("element_methods.pyi")
ALIASES = (fields, bodies, joints, joint_options, friction, rope)  # where annotations are named
COMMON = inspect.cleandoc(joint_options.JointOptions.__doc__ or "").partition("\n\n")[2]
HEAD = '"""Written by ``python -m mechgraph.model.element_stub``; do not edit."""\n'


def stub() -> str:
    """The text of the file."""
    methods = [vars(ElementMethods)[word] for word in words()]
    homes: dict[str, set[str]] = {}
    for method in methods:
        for home, name in _imports(method):
            homes.setdefault(home, set()).add(name)
    imports = [f"from {home} import {', '.join(sorted(homes[home]))}" for home in sorted(homes)]
    return "\n".join([HEAD, *imports, "\nclass ElementMethods:", *map(_method, methods)])


def _method(method: Callable[..., Any]) -> str:
    signature, parts = inspect.signature(method), list[str]()
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        hint = "" if p.annotation is p.empty else f": {p.annotation}"
        parts.append(f"{p.name}{hint}" + ("" if p.default is p.empty else f" = {p.default!r}"))
    said = method.__doc__ or ""
    short = (
        said if method.__name__ == "joint" else said.replace(COMMON, "For options see ``joint``.")
    )
    meaning = textwrap.indent(short, " " * 8).strip()
    close = '\n        """' if "\n" in meaning else '"""'
    head = f"    def {method.__name__}({', '.join(parts)}) -> {signature.return_annotation}:"
    return f'{head}\n        """{meaning}{close}\n'


def _imports(method: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Modules and names of its annotations."""
    signature = inspect.signature(method)
    hints = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
    for hint in hints:
        for name in () if hint is inspect.Parameter.empty else compile(hint, "", "eval").co_names:
            if name not in vars(builtins):
                yield _home(method, name), name


def _home(method: Callable[..., Any], name: str) -> str:
    """The module that a name of an annotation is defined in."""
    known = [*ALIASES, sys.modules[method.__module__]]
    module = next(each for each in known if name in vars(each))
    value = vars(module)[name]
    return str(value.__module__ if inspect.isclass(value) else module.__name__)


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")

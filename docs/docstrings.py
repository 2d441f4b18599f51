"""An extension of Griffe, which reads the API for the website: what it cannot see without running
the code, and docstrings as Markdown."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

from griffe import (
    Alias,
    Attribute,
    Class,
    Docstring,
    ExprCall,
    ExprName,
    Extension,
    Object,
    Parameters,
)

EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.+(?:\n +\S.*)*)$", re.MULTILINE)


def as_markdown(text: str) -> str:
    """A docstring with its examples as code and its arguments as a list.

    >>> print(as_markdown("Turn.\\n\\nangle: in radians,\\n    from zero.\\n\\n>>> turn(1)\\n2"))
    Turn.
    <BLANKLINE>
    - **`angle`**: in radians, from zero.
    <BLANKLINE>
    ```pycon
    >>> turn(1)
    2
    ```
    """
    text = ARGUMENT.sub(lambda found: f"- **`{found[1]}`**: {' '.join(found[2].split())}", text)
    text = re.sub(r"(?<=\S)\n(?=- \*\*`)", "\n\n", text)
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text).rstrip()


class Mechgraph(Extension):  # type: ignore[misc]
    """Methods that are functions of other modules, and docstrings as Markdown."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """When everything is read."""
        for member in list(_inside(pkg)):
            if isinstance(member, Attribute):
                _complete(pkg, member)
            if member.docstring:
                member.docstring.value = as_markdown(member.docstring.value)


def _inside(whole: Any) -> Any:
    for member in whole.members.values():
        if isinstance(member, Object) and not isinstance(member, Alias):
            yield member
            yield from _inside(member)


def _complete(package: Any, attribute: Any) -> None:
    """``simulate = simulate`` in a class is a method, and ``bodies = Contents("…")`` says itself
    what it is."""
    owner, value = attribute.parent, attribute.value
    if isinstance(value, ExprCall) and str(value.function).startswith("Contents"):
        attribute.docstring = Docstring(str(value.arguments[0]).strip("'\""), parent=attribute)
    if isinstance(owner, Class) and isinstance(value, ExprName) and value.name == attribute.name:
        imported = owner.module.members.get(value.name)
        if imported is not None:
            owner.set_member(attribute.name, _method(package, imported.target_path))


def _method(package: Any, path: str) -> Any:
    """A function without its first argument, which is ``self`` now."""
    method = copy(package[path.partition(".")[2]])
    method.parameters = Parameters(*list(method.parameters)[1:])
    return method

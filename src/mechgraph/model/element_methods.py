"""The methods of the builder that make elements: one for each class that ``kinds.py`` lists.

Editors and type checkers read them in ``element_methods.pyi``, which ``python -m
mechgraph.model.element_stub`` writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MethodType
from typing import Any

from ..errors import unknown
from .builder_calls import method_of, words


class ElementMethods:
    """A method for every joint, force and constraint that is listed, also for those that are listed
    later."""

    def __getattr__(self, word: str) -> Any:
        if word not in words():
            known = [name for name in dir(self) if not name.startswith("_")]
            raise AttributeError(f"System: {unknown('word', word, known)}")
        return MethodType(method_of(word), self)

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *words()}


for _word in words():
    setattr(ElementMethods, _word, method_of(_word))

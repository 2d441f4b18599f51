"""The one family of exceptions: every message names the culprit and the fix."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class MechgraphError(Exception):
    """Base of everything that mechgraph raises on purpose."""


class ModelError(MechgraphError, ValueError):
    """The description is wrong; ``problems`` lists everything that was found, not only the
    first."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        lines = self.problems
        super().__init__(
            lines[0]
            if len(lines) == 1
            else "\n".join([f"{len(lines)} problems:", *(f"  - {p}" for p in lines)])
        )


class UnsupportedError(MechgraphError, ValueError):
    """A combination of formalism, closure, method and system that is not supported."""


class ArgumentError(MechgraphError, ValueError):
    """A call got the wrong numbers: too few, too many, NaN, an unknown name."""


class AssemblyError(MechgraphError):
    """No state satisfies all constraints; ``residuals`` maps constraint rows to what is left."""

    def __init__(self, message: str, residuals: dict[str, float] | None = None) -> None:
        super().__init__(message)
        self.residuals = residuals or {}


class SimulationError(MechgraphError):
    """A run stopped early; ``trajectory`` keeps everything that was computed before."""

    def __init__(self, message: str, trajectory: object = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory


@contextmanager
def blamed(culprit: str) -> Iterator[None]:
    """Whatever goes wrong inside, in the user's own code too, is a problem of the culprit."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{culprit}: {problem}" for problem in error.problems) from error
    except MechgraphError:
        raise
    except Exception as error:
        raise ModelError(f"{culprit}: {error_text(error)}") from error


def error_text(error: BaseException) -> str:
    """The text of an error of the user's own code, in one line."""
    try:
        text = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
    except Exception:  # an object may refuse even this
        text = ""
    if isinstance(error, RuntimeError) and "truth value" in text:  # CasADi's, of an expression
        return (
            "an expression is neither true nor false, so Python's if, and, min, max cannot use it; "
            "use mg.if_else"
        )
    if text and isinstance(error, MechgraphError):
        return text
    text = text if len(text) <= 500 else f"{text[:499]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def warn(message: str) -> None:
    """A warning at the line of the user's that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level - 1)


def shown(value: object, limit: int = 80) -> str:
    """A value that was given, in one line that is not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an object may refuse even this
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """«unknown joint 'elbw'; did you mean 'elbow'? Known: …»."""
    names = [each if len(each) <= 80 else f"{each[:79]}…" for each in known]
    close = difflib.get_close_matches(name, names, n=1) if isinstance(name, str) else []
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join(names[:30]) + (" …" if len(names) > 30 else "") if names else "none"
    return f"unknown {kind} {shown(name)}{hint} Known: {listed}"

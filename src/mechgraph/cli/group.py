"""How every command ends, and how it says what it is doing."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import click

from ..errors import MechgraphError
from ..interrupts import remembered_interrupts

INTERRUPTED = 130  # what shells say of a program that Ctrl-C ended


class Commands(click.Group):
    """Subcommands in the order in which they were added. Their errors become one clear message:
    exit code 2 for a wrong command line, 1 for a wrong model or a run that fails, 130 for what was
    interrupted."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def main(self, *arguments: Any, **options: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # not all terminals have all letters
                stream.reconfigure(errors="replace")
        return super().main(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        try:
            with _log_to_terminal(), _plain_warnings(), remembered_interrupts() as found:
                result = super().invoke(context)
                found.check()  # what is not whole does not pass for it
                return result
        except MechgraphError as error:
            raise click.ClickException(str(error)) from None
        except BrokenPipeError:  # nobody reads on: click ends without a word
            raise
        except OSError as error:
            raise click.ClickException(
                f"{error.filename}: {error.strerror}" if error.filename else str(error)
            ) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of ours without the place in the code that they come from."""

    def shown(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if category is not UserWarning:
            return usual(message, category, *place, **more)
        return click.echo(f"Warning: {message}", err=True)

    usual, warnings.showwarning = warnings.showwarning, shown
    try:
        yield
    finally:
        warnings.showwarning = usual


@contextmanager
def _log_to_terminal() -> Iterator[None]:
    """A terminal is told of what takes its time: «compiling …»."""
    if not _is_terminal():
        yield
        return
    log, handler = logging.getLogger("mechgraph"), logging.StreamHandler()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def usage_errors() -> Iterator[None]:
    """An error inside is one of the command line."""
    try:
        yield
    except MechgraphError as error:
        raise click.UsageError(str(error)) from None

"""A command run to its end: within a time limit, and never left behind."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..interrupts import held_interrupts

# so that what a command starts can be ended with it
_GROUP: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
_running: set[subprocess.Popen[str]] = set()


def run_to_end(command: Sequence[str], seconds: float | None) -> subprocess.CompletedProcess[str]:
    """The command's exit status and what it printed.

    If it takes longer, or if Python is interrupted or ends, it is killed with all that it started.
    """
    process: subprocess.Popen[str] | None = None
    try:
        with held_interrupts():  # or one that has just begun would not be known
            process = _started(command)
        printed = process.communicate(timeout=seconds)
    except BaseException:
        if process is None:
            raise
        _kill(process)
        with process:  # wait for it and close its pipes
            raise
    finally:
        if process is not None:
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, *printed)


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **_GROUP,
    )
    _running.add(process)
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    """End a command and what it started."""
    with suppress(OSError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL) if _GROUP else process.kill()


@atexit.register
def _kill_all() -> None:
    for process in list(_running):
        _kill(process)


# a forked process must not end what its parent waits for
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)

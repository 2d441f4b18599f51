"""A process in which seeds are examined, and which can be ended when it takes too long."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60.0  # of the processor, for one call
PATIENCE = 20  # times as long by the clock: others may use the machine, too
MEMORY = 6 << 30  # bytes
RENEWED = 500  # questions after which there is a new process, with a new cache of compiled kernels


@dataclass(frozen=True)
class Finding:
    """A failure of one seed, or an answer that refuses, or a warning."""

    seed: int
    kind: str
    program: str
    is_failure: bool = True


# (seed, question, what is called with each program before it is run)
Examine = Callable[[int, str, Callable[[str], None]], list[Finding]]


def _work(channel: Any, examine: Examine, cache: str) -> None:
    """Examine what comes through the channel."""
    os.environ["MECHGRAPH_CACHE"] = cache
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the campaign
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def told(text: str) -> None:
        channel.send(("running", text))

    while True:
        channel.send(("done", examine(*channel.recv(), told)))


class Worker:
    """A process that examines seeds, replaced when it takes too long, dies, or has done much."""

    def __init__(self, examine: Examine, seconds: float = SECONDS) -> None:
        self._examine, self.seconds = examine, seconds
        self._start()

    def _start(self) -> None:
        self.cache, self.asked = tempfile.TemporaryDirectory(), 0
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its matrices are small, and threads spin
        spawn = multiprocessing.get_context("spawn")
        self.channel, there = spawn.Pipe()
        self.process = spawn.Process(
            target=_work, args=(there, self._examine, self.cache.name), daemon=True
        )
        self.process.start()
        there.close()

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.cache.cleanup()

    def _renew(self) -> None:
        self.close()
        self._start()

    def examine(self, seed: int, question: str) -> list[Finding]:
        """What is found within the time limit."""
        self.asked += 1
        if self.asked > RENEWED:
            self._renew()
        program = ""
        try:
            self.channel.send((seed, question))
            for what, value in iter(self._next_message, None):
                if what == "done":
                    return value
                program = value
            kind = f"no end in {self.seconds:g} s"
        except (EOFError, ConnectionError):
            self.process.join()
            kind = f"the interpreter died ({self.process.exitcode})"
        self._renew()
        line = program.rpartition("\n")[2].partition("(")[0]
        return [Finding(seed, f"{question}: {kind} of {line}", program)]

    def _next_message(self) -> Any:
        """What comes through the channel next; None when the time is up."""
        clock, processor = time.monotonic(), self._spent()
        while self._spent() - processor < self.seconds:
            if self.channel.poll(0.1):
                return self.channel.recv()
            if time.monotonic() - clock > PATIENCE * self.seconds:
                break
        return None

    def _spent(self) -> float:
        """Seconds of the processor, those of the compilers that it waited for included."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # no such system, or it has died, which the channel tells
            return 0.0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

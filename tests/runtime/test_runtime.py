"""The runtime in C: its structures are those of the headers, it is that of its sources, and a run
is a value that can be copied."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from mechgraph.kernels.routine import Routine
from mechgraph.runtime import library
from mechgraph.runtime.build import FOLDER, LIBRARY
from mechgraph.runtime.stepper import END, GO_ON, Stepper

ROOT = Path(__file__).parents[2]


def test_structures_are_those_of_the_headers():
    sizes = (ctypes.c_long * 7).in_dll(library.library(), "runtime_sizes")
    names = ["Sampler", "Crossing", "Run", "Point", "Modes", "Sizes", "Contacts"]
    found = library.structures()
    assert list(found)[: len(names)] == names
    assert [ctypes.sizeof(found[name]) for name in names] == list(sizes)


def test_a_runtime_of_other_sources_is_refused(monkeypatch):
    monkeypatch.setattr(library, "digest", lambda: "another")
    with pytest.raises(library.OutOfDate, match=r"other sources.*python hatch_build\.py"):
        library.library.__wrapped__()
    monkeypatch.setattr(library, "LIBRARY", LIBRARY.with_name("nothing.so"))
    with pytest.raises(library.OutOfDate, match=r"not there.*python hatch_build\.py"):
        library.library.__wrapped__()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
def test_it_is_built_anew_where_sources_have_changed(tmp_path):
    place = tmp_path / "src" / "mechgraph" / "runtime"
    shutil.copytree(FOLDER, place)
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    made, source = place / LIBRARY.name, place / "runtime.c"
    command = [sys.executable, str(tmp_path / "hatch_build.py")]
    before = made.read_bytes()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert made.read_bytes() == before
    source.write_text(f"{source.read_text()}/* changed */\n")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert made.read_bytes() != before


def oscillator() -> Stepper:
    """ÿ = −4 y, with an event at y = 0.3."""
    y, t = SX.sym("y", 2), SX.sym("t")
    x = ca.vertcat(y, t)
    flow = Routine("flow", x, ca.vertcat(y[1], -4 * y[0]))
    surface = Routine("surface", x, y[0] - 0.3)
    sizes = {"moving": 2, "constants": np.zeros(0), "rtol": 1e-9, "atol": 1e-11, "longest": 0.1}
    return Stepper("rk8", flow, None, surface, **sizes)


def test_a_run_is_a_value():
    """Interrupted by others, and put back from a copy of its memory, it goes on as if nothing had
    been."""
    runs = [oscillator() for _ in range(3)]
    for run in runs:
        run.output(np.array([1.0, 5.0, 9.0]))
        run.begin(0.0, np.array([1.0, 0.0]), np.zeros(0))
    assert runs[0].integrate(9.0, 60.0) == END
    while runs[1].integrate(9.0, 0.0) == GO_ON:
        memory, state = runs[1]._memory.copy(), type(runs[1].run).from_buffer_copy(runs[1].run)
        runs[1].integrate(9.0, 0.0), runs[2].integrate(9.0, 0.0)  # to be forgotten; another one
        done, runs[1]._memory[:] = runs[1].run.done, memory
        ctypes.memmove(ctypes.byref(runs[1].run), ctypes.byref(state), ctypes.sizeof(state))
        assert done >= runs[1].run.done
    for name in ("y", "ydot", "noise"):
        size = 1 if name == "noise" else 2
        first, again = (run._view(name, size, np.dtype(float)) for run in runs[:2])
        assert first.tolist() == again.tolist()
    assert runs[0].arrays["out"].tolist() == runs[1].arrays["out"].tolist()
    noted = [run.events() for run in runs[:2]]
    assert noted[0] == noted[1]
    assert len(noted[0]) == 6
    exact = np.arccos(0.3) / 2
    assert noted[0][0] == (0, pytest.approx(exact, rel=1e-9))

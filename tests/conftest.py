"""What every test finds: a cache of compiled kernels that belongs to this test run alone, and
models that are interpreted; and the lanes: smoke tests, and the long tail of large families."""

from __future__ import annotations

import collections
import os

import pytest

COMPILED = os.environ.get("MECHGRAPH_COMPILE") == "always"  # in every test


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Models are left to the interpreter, whose results do not depend on when a compiler is done;
    where machine code is the subject (``machine_code``), compilers start by themselves."""
    if COMPILED or item.get_closest_marker("machine_code"):
        os.environ.pop("MECHGRAPH_COMPILE", None)
    else:
        os.environ["MECHGRAPH_COMPILE"] = "asked"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Workers of one run share the folder, as processes of one user do."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHGRAPH_CACHE", str(folder))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """``sampled(k)``: of a family of tests all but each k-th belong to the long tail.
    ``smoke("a", "b")``: of a family only these, by their parameters, are in the smoke lane."""
    seen = collections.Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            family = item.nodeid.partition("[")[0]
            if seen[family] % sampled.args[0]:
                item.add_marker("slow")
            seen[family] += 1
        smoke = item.get_closest_marker("smoke")
        if smoke is not None and smoke.args and item.callspec.id not in smoke.args:
            item.own_markers.remove(smoke)

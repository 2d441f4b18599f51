"""What every test finds: a cache of compiled kernels that belongs to this test run alone."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Workers of one run share the folder, as processes of one user do."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHGRAPH_CACHE", str(folder))
        yield

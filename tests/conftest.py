"""What every test finds: a cache of compiled kernels that belongs to this test run alone; and the
quick lane, a sample of all tests."""

from __future__ import annotations

import os
import zlib

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Workers of one run share the folder, as processes of one user do."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHGRAPH_CACHE", str(folder))
        yield


SAMPLE = 16  # one test of so many is in the quick lane


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a sample of the tests, under a minute")


def pytest_collection_modifyitems(config, items):
    """Of every file some tests, always the same ones; none of the long tail."""
    if config.getoption("--quick"):
        items[:] = [
            item
            for item in items
            if zlib.crc32(item.nodeid.encode()) % SAMPLE == 0 and "slow" not in item.keywords
        ]

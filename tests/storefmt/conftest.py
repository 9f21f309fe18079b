"""Golden stores by name, unpacked once for all tests of this package; the kernels of the scan."""

from collections.abc import Callable

import pytest

from storefmt.formats import scan
from tests.golden import Golden
from tests.storefmt.corpus import Corpus
from tests.twins import FORMS, use_form


@pytest.fixture(scope="session")
def corpus(golden: Golden) -> Callable[[str], Corpus]:
    """Return a function that gives a golden store; nobody may change its files."""
    known: dict[str, Corpus] = {}

    def get(name: str) -> Corpus:
        if name not in known:
            known[name] = Corpus(golden, name, golden.store(name))
        return known[name]

    return get


@pytest.fixture(params=FORMS)
def scan_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let ``scan_log`` use one implementation; return its name."""
    way: str = request.param
    use_form(monkeypatch, way, scan, "_scan", "scan_compiled")
    return way

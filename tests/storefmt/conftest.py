"""Golden stores by name, unpacked once for all tests of this package."""

from collections.abc import Callable

import pytest

from tests.golden import Golden
from tests.storefmt.corpus import Corpus


@pytest.fixture(scope="session")
def corpus(golden: Golden) -> Callable[[str], Corpus]:
    """Return a function that gives a golden store; nobody may change its files."""
    known: dict[str, Corpus] = {}

    def get(name: str) -> Corpus:
        if name not in known:
            known[name] = Corpus(golden, name, golden.store(name))
        return known[name]

    return get

"""Names of a package that are loaded when they are first asked for."""

import json
import sys
from types import ModuleType

import pytest

from remoting.lazy import on_demand


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    return made


def test_a_name_comes_from_its_module_and_stays(package: ModuleType) -> None:
    load = on_demand("made", {"json": "dumps loads", "json.decoder": "JSONDecoder"})

    assert load("loads") is json.loads
    assert vars(package)["loads"] is json.loads
    assert "dumps" not in vars(package)


def test_a_name_that_is_in_no_module_is_told_with_its_package(package: ModuleType) -> None:
    load = on_demand("made", {"json": "dumps"})

    with pytest.raises(AttributeError, match="module made has no loads"):
        load("loads")
    assert "loads" not in vars(package)

"""The collector finds every handler once and refuses two for one code."""

import sys
from pathlib import Path

import pytest

from mqserver.runtime.registry import DuplicateHandler, collect, handles

MODULE = """
from mqserver.runtime.registry import handles

@handles({codes})
def {name}(app, request):
    return None
"""


def package_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **modules: str):
    name = f"handlers_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = __import__(name)
    for key in [key for key in sys.modules if key.startswith(name)]:
        monkeypatch.delitem(sys.modules, key)
    monkeypatch.setitem(sys.modules, name, package)
    return package


def test_collect_finds_every_code_of_every_module(tmp_path, monkeypatch) -> None:
    package = package_of(
        tmp_path,
        monkeypatch,
        one=MODULE.format(codes="10, 310", name="send"),
        two=MODULE.format(codes="11, raw=True", name="pull"),
    )

    found = collect(package)

    assert sorted(found.ordinary) == [10, 310]
    assert sorted(found.raw) == [11]
    assert found.codes() == {10, 11, 310}


def test_a_raw_and_an_ordinary_handler_may_share_a_code(tmp_path, monkeypatch) -> None:
    text = MODULE.format(codes="10", name="slow") + MODULE.format(codes="10, raw=True", name="fast")

    found = collect(package_of(tmp_path, monkeypatch, send=text))

    assert (found.ordinary[10].__name__, found.raw[10].__name__) == ("slow", "fast")


def test_two_handlers_of_one_code_are_refused_by_name(tmp_path, monkeypatch) -> None:
    package = package_of(
        tmp_path,
        monkeypatch,
        one=MODULE.format(codes="10", name="send"),
        two=MODULE.format(codes="10", name="send_too"),
    )

    with pytest.raises(DuplicateHandler, match=r"code 10 .*one\.send .*two\.send_too"):
        collect(package)


def test_an_imported_handler_counts_once(tmp_path, monkeypatch) -> None:
    package = package_of(tmp_path, monkeypatch, one=MODULE.format(codes="10", name="send"))
    (tmp_path / package.__name__ / "two.py").write_text(f"from {package.__name__}.one import send")

    assert sorted(collect(package).ordinary) == [10]


def test_handles_leaves_the_function_as_it_is() -> None:
    def handler(app, request):
        return None

    assert handles(10)(handler) is handler

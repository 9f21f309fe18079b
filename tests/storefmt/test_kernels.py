"""The one list of kernels is that of the sources, and each is loaded the same way."""

import os
import re
from pathlib import Path

import pytest

from storefmt import kernels
from storefmt.kernels import KERNELS, PURE, forms, load
from tests.packages import PACKAGES
from tests.programs import python

LOADED = re.compile(r"\bload\(\s*\"([\w.]+)\", \"(\w+)\", pure=", re.ASCII)
ROOT = Path(__file__).parents[3]


def module_names(pattern: str) -> list[str]:
    """Return the names of the modules in the packages whose files have such a name."""
    return [
        ".".join((package, *path.relative_to(folder).with_suffix("").parts))
        for package, folder in PACKAGES.items()
        for path in sorted(folder.rglob(pattern))
    ]


def loads() -> list[tuple[str, str]]:
    """Return module and name of every call of ``load`` in the packages."""
    return [
        (found[1], found[2])
        for folder in PACKAGES.values()
        for path in folder.rglob("*.py")
        if path.name != "kernels.py"
        for found in LOADED.finditer(path.read_text())
    ]


def test_every_kernel_is_in_the_list_and_loaded() -> None:
    # Arrow's kernel is imported by the module that makes arrays of its buffers.
    loaded = {module.replace("columns_compiled", "columns_kernel") for module, _ in loads()}

    assert list(KERNELS) == sorted(module_names("*_kernel.pyx"))
    assert loaded == set(KERNELS)


def test_the_name_of_a_compiled_form_is_unique() -> None:
    names = [name for _, name in loads()]

    assert len(names) == len(set(names))
    assert len(names) >= len(KERNELS)


def test_kernels_are_imported_by_the_loader_alone() -> None:
    direct = re.compile(r"^\s*(?:from|import) [\w.]*_kernel\b", re.MULTILINE)
    importers = [
        path.name
        for folder in PACKAGES.values()
        for path in folder.rglob("*.py")
        if direct.search(path.read_text())
    ]

    assert importers == ["columns_compiled.py"]


def test_without_the_module_the_pure_form_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PURE, raising=False)
    monkeypatch.setattr(kernels, "_LOADED", {})

    assert load("storefmt.no_such_kernel", "size_of", pure=len) is len
    assert forms("size_of") == {"pure": len}


def test_the_environment_leaves_the_compiled_form_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_LOADED", {})
    monkeypatch.setenv(PURE, "1")

    assert load("operator", "length_hint", pure=len) is len
    # Tests compare both forms there as well.
    assert list(forms("length_hint")) == ["pure", "compiled"]
    monkeypatch.delenv(PURE)
    assert load("operator", "length_hint", pure=len) is forms("length_hint")["compiled"]


def test_a_process_that_leaves_kernels_out_imports_none() -> None:
    program = (
        "import sys, mqserver.broker.app, storefmt.arrow.columns\n"
        "from storefmt.kernels import KERNELS\n"
        "print([name for name in KERNELS if name in sys.modules])"
    )

    done = python("-c", program, env={**os.environ, PURE: "1"})

    assert done.stdout.strip() == "[]"

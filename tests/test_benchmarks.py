"""The benchmarks are run by hand, and so a test says when one of them has lost what it imports."""

import importlib

import pytest

from tests.golden import REPOSITORY

NAMES = sorted(path.stem for path in (REPOSITORY / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_finds_what_it_imports(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").__doc__

"""`mqadmin --version` says what is installed, and costs little."""

import platform
import re
import shutil
import sys
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mqadmin import VERSION, installation
from mqadmin.installation import EXTRAS, version_text
from storefmt.kernels import PURE
from tests.packages import PACKAGES
from tests.programs import ran

TIMES_OF_PYTHON = 5
"""What the version may cost, in instructions of a Python that does nothing."""


def instructions(*words: str) -> int:
    """Return how many instructions Python takes, counted by valgrind."""
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    done = ran(*tool, sys.executable, *words)
    found = re.search(r"I\s+refs:\s+([0-9,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


def test_the_version_names_python_kernels_and_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PURE, raising=False)
    built = sorted(
        path.name.partition("_kernel.")[0]
        for folder in PACKAGES.values()
        for path in folder.rglob("*_kernel.*")
        if path.name.endswith(tuple(EXTENSION_SUFFIXES))
    )

    first, python, kernels, extras, *_ = version_text().splitlines()

    assert first.startswith(f"mqadmin {VERSION} ")
    assert python == f"Python {platform.python_version()}"
    assert kernels == f"kernels: {', '.join(built) or 'none (not built)'}"
    assert "spark" in extras.removeprefix("extras: ").split(", ")


def test_the_version_names_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, "1")
    monkeypatch.setattr(installation, "EXTRAS", {"fast": ("isal", "no_such_module")})

    told = version_text().splitlines()

    assert told[2:4] == ["kernels: none (left out by MQ_PURE)", "extras: none"]


def test_every_extra_is_known_by_what_it_is_imported_as() -> None:
    owners = metadata.packages_distributions()
    declared = [Requirement(line) for line in metadata.requires("mqclient") or ()]
    for extra in metadata.metadata("mqclient").get_all("Provides-Extra") or ():
        needed = {
            canonicalize_name(each.name)
            for each in declared
            if each.marker and each.marker.evaluate({"extra": extra})
            and not each.marker.evaluate({"extra": ""})
        }  # fmt: skip

        # Several distributions may share a name that is imported, as `opentelemetry` is.
        assert EXTRAS[extra]
        for name in EXTRAS[extra]:
            # What is not installed here has the name of its distribution.
            assert needed & {canonicalize_name(owner) for owner in owners.get(name, [name])}, name


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_version_costs_at_most_five_times_python_alone() -> None:
    assert instructions("-m", "mqadmin", "--version") <= TIMES_OF_PYTHON * instructions(
        "-c", "pass"
    )

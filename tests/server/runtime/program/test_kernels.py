"""A process says which kernels it uses, and why it uses none."""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from mqserver.runtime.program.event_loop import loop_name
from mqserver.runtime.program.kernels import NOT_BUILT, kernels_in_use
from storefmt.kernels import PURE
from tests.packages import PACKAGES
from tests.programs import python

OFFLINE = {"columns"}
"""Kernels of Spark and the offline tools, which a broker does not load."""


def version_line(**variables: str) -> str:
    """Return what `mqbroker --version` prints."""
    env = {name: text for name, text in os.environ.items() if name != PURE}
    done = python("-m", "mqserver.broker.app", "--version", env={**env, **variables})
    assert done.stderr == ""
    return done.stdout


def built(package: str) -> set[str]:
    """Return the names of the kernels that were built below a package."""
    return {
        path.name.removesuffix(f"_kernel{suffix}")
        for suffix in EXTENSION_SUFFIXES
        for path in PACKAGES[package].rglob(f"*_kernel{suffix}")
    }


def test_a_broker_names_every_kernel_that_was_built_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PURE, raising=False)
    names = sorted((built("storefmt") | built("mqserver") | built("remoting")) - OFFLINE)

    line = version_line()

    assert line.startswith("mqbroker ")
    assert line.count("\n") == 1
    if names:
        assert line.endswith(f", event loop: {loop_name()}, kernels: {', '.join(names)}\n")
    else:
        assert line.endswith(f"kernels: {NOT_BUILT}\n")


def test_a_broker_that_leaves_them_out_says_so() -> None:
    assert version_line(MQ_PURE="1").endswith(
        ", event loop: asyncio, kernels: none (left out by MQ_PURE)\n"
    )


def test_without_kernels_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PURE, raising=False)
    for name in [name for name in sys.modules if name.endswith("_kernel")]:
        monkeypatch.delitem(sys.modules, name)

    assert kernels_in_use() == NOT_BUILT
    assert "pure wheel" in NOT_BUILT

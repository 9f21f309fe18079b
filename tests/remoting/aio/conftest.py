"""Tests of the event loop that are coroutine functions may leave no task and no unseen error."""

import inspect

import pytest

from tests.conftest import coroutine_of
from tests.remoting.aio.peers import run


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function as ``run`` does."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    run(coroutine_of(pyfuncitem))
    return True

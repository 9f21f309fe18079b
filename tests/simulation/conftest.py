"""What all tests of the simulation share."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    """Let the real code log nothing: the trace of a run says what happened."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)

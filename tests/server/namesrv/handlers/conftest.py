"""The name server that the tests of handlers ask."""

from pathlib import Path

import pytest

from tests.server.namesrv.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)

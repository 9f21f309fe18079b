"""Cycles of faults of a master of 5.4.0, with Java's controller and with ours.

What Java loses is measured in docs/reliability.md; here a kill alone loses nothing, with either.
"""

from pathlib import Path

import pytest

from tests.interop.kit.servers import JavaSide
from tests.server.test_failover_cycles import play


@pytest.mark.soak
@pytest.mark.parametrize("controller", ["java", "ours"])
def test_the_kill_of_a_java_master_loses_nothing(
    five: JavaSide, controller: str, tmp_path: Path
) -> None:
    words = ("--brokers", "java", "java", "java", "--controller", controller, "--faults", "kill")
    total = play(tmp_path, *words, cycles=4)

    assert (total["lost"], total["doubled"], total["unexpected"]) == (0, 0, 0)

"""The brokers of a group and its controller are killed, and hang, under load, with processes."""

import asyncio
from pathlib import Path

from tests.server.group_failover import BrokerGroup, run

FAULTS = ["kill", "slave-hang", "controller-kill", "hang", "slave-kill", "kill"]


def test_no_acknowledged_message_is_lost_when_masters_fail(tmp_path: Path) -> None:
    # The time without accepted sends depends on this machine; docs/reliability.md has measured it.
    group = BrokerGroup(tmp_path, 2)
    group.start()
    try:
        result = asyncio.run(run(group, FAULTS))
    finally:
        group.stop()
    print(result)

    assert result["lost"] == result["moved"] == result["unexpected"] == 0, result
    assert result["acknowledged"]
    tails = [path for member in group.members for path in member.store.glob("tails/*/commitlog")]
    assert all(any(path.iterdir()) for path in tails)

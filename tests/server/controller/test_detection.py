"""When a controller that has just started may replace a master that it has not heard."""

from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.detection import Detection
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.groups_file import GroupsFile
from mqserver.controller.live_brokers import TIMEOUT_MS
from tests.server.controller.examples import LED, live_broker
from tests.server.doubles import FakeClock


class Deaf(Detection):
    """A detection to whose tries no port answers, unless ``refusing`` says so."""

    refusing = ""

    async def refuses(self, address: str) -> bool:
        return address == self.refusing


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def detection(tmp_path: Path, clock: FakeClock) -> Deaf:
    groups = BrokerGroups(
        GroupsFile(tmp_path),
        clock,
        on_new_master=lambda record: None,
        on_old_epoch=lambda record, broker: None,
        first_election_wait_ms=0,
    )
    return Deaf(groups, clock)


def hear(detection: Deaf, clock: FakeClock, broker_id: int, timeout_ms: int) -> None:
    """Let a heartbeat come now."""
    heartbeat = live_broker(broker_id, heard_ms=clock.ms, timeout_ms=timeout_ms)
    detection._groups.live.accept_heartbeat(heartbeat)


THREE = replace(
    LED, in_sync_set=frozenset({1, 2, 3}), replicas={**LED.replicas, 3: LED.replicas[2]}
)


@pytest.mark.parametrize(
    ("record", "heard", "silent_ms"),
    [
        (LED, {2: 2_000}, 2_000),
        (LED, {2: 5_000}, 5_000),
        (THREE, {2: 2_000, 3: 5_000}, 5_000),
        (THREE, {2: 2_000}, TIMEOUT_MS),
    ],
    ids=[
        "the only other member was heard", "it announces a longer timeout",
        "the longest timeout of all others counts", "one of the others was not heard",
    ],
)  # fmt: skip
async def test_a_master_is_given_time_since_the_controller_started(
    detection: Deaf, clock: FakeClock, record: GroupRecord, heard: dict[int, int], silent_ms: int
) -> None:
    clock.ms += silent_ms
    for broker_id, timeout_ms in heard.items():
        hear(detection, clock, broker_id, timeout_ms)

    early = await detection.may_be_dead(record)
    clock.ms += 1
    late = await detection.may_be_dead(record)

    assert (early, late) == (False, True)


async def test_a_master_that_was_heard_has_the_timeout_that_it_announced(
    detection: Deaf, clock: FakeClock
) -> None:
    hear(detection, clock, 1, 3_000)
    clock.ms += 3_000
    hear(detection, clock, 2, 2_000)

    early = await detection.may_be_dead(LED)
    clock.ms += 1
    late = await detection.may_be_dead(LED)

    assert (early, late) == (False, True)


@pytest.mark.parametrize("others", [(), (2,), (2, 3)])
async def test_a_controller_that_hears_nobody_any_more_replaces_no_master(
    detection: Deaf, clock: FakeClock, others: tuple[int, ...]
) -> None:
    hear(detection, clock, 1, 2_000)
    clock.ms += 499
    for broker_id in others:
        hear(detection, clock, broker_id, 2_000)
    clock.ms += 1_502

    cut_off = await detection.may_be_dead(THREE)
    clock.ms += 3_600_000
    much_later = await detection.may_be_dead(THREE)
    hear(detection, clock, 2, 2_000)
    heard_again = await detection.may_be_dead(THREE)

    assert (cut_off, much_later, heard_again) == (False, False, True)


async def test_a_master_without_other_members_is_not_replaced(
    detection: Deaf, clock: FakeClock
) -> None:
    clock.ms += 3_600_000
    hear(detection, clock, 2, 2_000)

    assert not await detection.may_be_dead(replace(LED, in_sync_set=frozenset({1})))


async def test_a_port_that_refuses_connections_needs_no_time(detection: Deaf) -> None:
    detection.refusing = "h:1"

    assert await detection.may_be_dead(LED)


async def test_a_group_without_a_master_needs_no_time(detection: Deaf) -> None:
    assert await detection.may_be_dead(replace(LED, master_id=None))

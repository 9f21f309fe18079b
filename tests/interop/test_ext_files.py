"""Consume queue ext files: written alike by both sides, and taken over from each other.

Both brokers get the same groups with the same filters, then the same messages; units must
have the same tags codes and bit maps at the same places, in files of the same names.
"""

import asyncio
import re
from pathlib import Path

import pytest

from remoting.bodies import (
    ConsumerData,
    HeartbeatData,
    QueryConsumeQueueResponseBody,
    SubscriptionData,
)
from remoting.codes import RequestCode
from remoting.headers import QueryConsumeQueue
from storefmt.formats.consumequeue import decode_entries
from storefmt.formats.consumequeue_ext import ExtUnit, decode_units
from tests.interop.conftest import Servers
from tests.interop.kit.our_clients import asking, make_topic
from tests.interop.kit.servers import JavaSide, OurSide, Side, running_pair
from tests.interop.kit.toolbox import Toolbox

TOPIC = "ext_units"
FILE_SIZE = 1_000
SETTINGS = {
    "enableConsumeQueueExt": "true",
    "enableCalcFilterBitMap": "true",
    "mappedFileSizeConsumeQueueExt": str(FILE_SIZE),
    "brokerName": "broker-ext",
    "brokerClusterName": "ExtCluster",
}
FILTERS = {"EXT_LOW": "n < 40", "EXT_ODD": "odd = '1'", "EXT_NONE": "n > 1000"}


def numbered(start: int, end: int) -> list[dict[str, object]]:
    return [
        {
            "body": f"{n}",
            "tags": ["A", "B", ""][n % 3] or None,
            "queue": 0,
            "broker": "broker-ext",
            "properties": {"n": str(n), "odd": str(n % 2)},
        }
        for n in range(start, end)
    ]


def spec_of(servers: Servers, **more: object) -> dict[str, object]:
    return {"namesrv": servers.namesrv.address, "topic": TOPIC, "timeoutMs": 60_000, **more}


def fill(toolbox: Toolbox, servers: Servers, start: int, end: int) -> None:
    """Let the groups say their filters, then send; every group gets what it wants."""
    jobs = {}
    for group, sql in FILTERS.items():
        spec = spec_of(servers, group=group, sql=sql, count=1, linger=True, instance=group)
        jobs[group] = toolbox.start("PushConsumer", spec)
        jobs[group].until("started")
    spec = spec_of(servers, group="P", mode="sync", messages=numbered(start, end))
    assert {line["event"] for line in toolbox.run("Producer", spec)} == {"sent"}
    wanted = {
        "EXT_LOW": {n for n in range(start, end) if n < 40},
        "EXT_ODD": {n for n in range(start, end) if n % 2},
        "EXT_NONE": set(),
    }
    for group, job in jobs.items():
        got = job.messages(len(wanted[group]))
        assert {int(line["properties"]["n"]) for line in got} == wanted[group]
        job.stop()


def everything(toolbox: Toolbox, servers: Servers, sql: str, count: int) -> set[int]:
    """Return what a new group gets of all that is there."""
    spec = spec_of(servers, group=f"NEW_{count}", sql=sql, count=count)
    lines = toolbox.start("PushConsumer", spec).messages(count)
    return {int(line["properties"]["n"]) for line in lines}


def units(store: Path) -> list[tuple[str, int, int, bytes]]:
    """Return (file, place, tags code, bit map) of every unit; times differ between brokers."""
    directory = store / "consumequeue_ext" / TOPIC / "0"
    found: list[tuple[str, int, int, bytes]] = []
    for path in sorted(directory.iterdir()):
        assert path.stat().st_size == FILE_SIZE
        unit: ExtUnit
        for pos, unit in decode_units(path.read_bytes()):
            found.append((path.name, pos, unit.tags_code, unit.bit_map))
    return found


def addresses(store: Path) -> list[int]:
    path = store / "consumequeue" / TOPIC / "0" / f"{0:020d}"
    return [entry.tags_code for entry in decode_entries(path.read_bytes()) if entry.size]


def ends(store: Path) -> list[bytes]:
    """Return what stands behind the last unit of each full file, to its end."""
    directory = store / "consumequeue_ext" / TOPIC / "0"
    found = []
    for path in sorted(directory.iterdir())[:-1]:
        data = path.read_bytes()
        *_, (pos, unit) = decode_units(data)
        found.append(data[pos + unit.size :])
    return found


@pytest.fixture(scope="module")
def stores(
    toolbox: Toolbox,
    java_side: JavaSide,
    our_side: OurSide,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """Return the stores of both sides after the same messages."""
    found = {}
    sides: dict[str, Side] = {"java": java_side, "ours": our_side}
    for name, side in sides.items():
        found[name] = tmp_path_factory.mktemp(f"ext-{name}") / "store"
        with running_pair(side, found[name], settings=SETTINGS, in_order=True) as servers:
            make_topic(servers, TOPIC, 2)
            fill(toolbox, servers, 0, 60)
    return found


def test_units_are_the_same(stores: dict[str, Path]) -> None:
    real, ours = stores["java"], stores["ours"]

    assert len(units(real)) == 60
    assert len({bits for *_, bits in units(real)}) == 4
    assert units(ours) == units(real)
    assert addresses(ours) == addresses(real)
    assert ends(ours) == ends(real)


HEARTBEAT = HeartbeatData(
    client_id="asker",
    consumer_data_set=[
        ConsumerData(group_name=group, subscription_data_set=[subscription])
        for group, subscription in {
            "EXT_LOW": SubscriptionData(
                topic=TOPIC, sub_string="n < 40", expression_type="SQL92", sub_version=9
            ),
            "TAGS": SubscriptionData(
                topic=TOPIC, sub_string="A", tags_set=["A"], code_set=[65], sub_version=9
            ),
            "ALL": SubscriptionData(topic=TOPIC, sub_string="*", sub_version=9),
        }.items()
    ],
).encode()


async def shown(broker: str) -> list[str]:
    """Return what a broker shows of the queue to each group, times left out."""
    found = []
    async with asking(broker) as ask:
        beat = await ask(RequestCode.HEART_BEAT, body=HEARTBEAT)
        assert beat.code == 0, beat
        for group in ("EXT_LOW", "TAGS", "ALL", "EXT_ODD", None):
            for index, count in ((0, 45), (58, 5)):
                header = QueryConsumeQueue(
                    topic=TOPIC, queue_id=0, index=index, count=count, consumer_group=group
                )
                answer = await ask(RequestCode.QUERY_CONSUME_QUEUE, header)
                found.append(re.sub(r"(?<!\d)1[78]\d{11}(?!\d)", "0", answer.body.decode()))
    return found


def test_units_are_shown_alike(
    java_side: JavaSide, our_side: OurSide, stores: dict[str, Path]
) -> None:
    answers = {}
    for name, side in (("java", java_side), ("ours", our_side)):
        with running_pair(side, stores[name], settings=SETTINGS, in_order=True) as servers:
            answers[name] = asyncio.run(shown(servers.broker.address))

    assert answers["ours"] == answers["java"]
    low = QueryConsumeQueueResponseBody.decode(answers["java"][0].encode()).queue_data or []
    assert [row.eval for row in low] != [True] * 45
    assert all(row.bit_map and row.extend_data_json for row in low)


def test_each_goes_on_with_the_store_of_the_other(
    toolbox: Toolbox, java_side: JavaSide, our_side: OurSide, stores: dict[str, Path]
) -> None:
    others: dict[str, Side] = {"java": our_side, "ours": java_side}

    for name, side in others.items():
        with running_pair(side, stores[name], settings=SETTINGS, in_order=True) as servers:
            got = everything(toolbox, servers, "n BETWEEN 35 AND 44", 10)
            assert got == set(range(35, 45))
            fill(toolbox, servers, 60, 90)

    assert len(units(stores["java"])) == 90
    assert units(stores["ours"]) == units(stores["java"])
    assert addresses(stores["ours"]) == addresses(stores["java"])

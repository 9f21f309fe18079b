"""A batch whose messages name further queues (INNER_MULTI_DISPATCH), at both brokers.

Both copy a single message. The real broker copies the messages of a batch only where the producer
also names queue offsets (INNER_MULTI_QUEUE_OFFSET), whatever they are, and leaves these wrong
offsets in the records. Ours copies each of them, like a single message, with its own offsets.
"""

import asyncio
from pathlib import Path

from remoting.codes import RequestCode
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.message import Record
from storefmt.formats.properties import INNER_MULTI_QUEUE_OFFSET
from storefmt.offline import StoreDir
from tests.interop.kit.our_clients import asking
from tests.interop.kit.servers import Broker, JavaSide, OurSide, Side
from tests.server.broker.desk import create, send

TOPIC, LIGHT, OTHER = "LightBatches", "%LMQ%alone", "%LMQ%claimed"
SETTINGS = {"enableLmq": "true", "enableMultiDispatch": "true"}


def entries(names: str, *, claims: tuple[str, ...] = ("",) * 3) -> bytes:
    return join_batch(
        [
            BatchEntry(
                0,
                b"%d" % number,
                f"INNER_MULTI_DISPATCH\1{names}".encode()
                + (f"\2INNER_MULTI_QUEUE_OFFSET\1{claim}".encode() if claim else b""),
            )
            for number, claim in enumerate(claims)
        ]
    )


def stored(side: Side, root: Path) -> tuple[dict[str, list[tuple[int, bytes]]], list[Record]]:
    """Send a single message and two batches; return light queues and records."""
    broker = Broker(side, store=root, settings=SETTINGS).await_ready()

    async def act() -> None:
        single = f"INNER_MULTI_DISPATCH\1{LIGHT},{OTHER}"
        batch = send(topic=TOPIC, batch=True)
        claimed = entries(OTHER, claims=("3", "4", "0"))
        async with asking(broker.address) as ask:
            answers = [
                await ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC)),
                await ask(
                    RequestCode.SEND_MESSAGE_V2, send(topic=TOPIC, properties=single), b"single"
                ),
                await ask(RequestCode.SEND_BATCH_MESSAGE, batch, entries(LIGHT)),
                await ask(RequestCode.SEND_BATCH_MESSAGE, batch, claimed),
            ]
        assert [answer.code for answer in answers] == [0] * 4

    asyncio.run(act())
    assert broker.stop() in (0, 143)
    return read(root)


def read(root: Path) -> tuple[dict[str, list[tuple[int, bytes]]], list[Record]]:
    with StoreDir.open(root) as store:
        records = {one.log_offset: one for one in store.records() if isinstance(one, Record)}
        queues = {
            name: [
                (number, records[entry.log_offset].body)
                for number, entry in store.queue(name, 0).entries(0, 10)
                if entry.size > 0 and not entry.is_filler
            ]
            for name in (LIGHT, OTHER)
        }
        return queues, list(records.values())


def test_batch_is_copied_like_single_messages_and_claimed_offsets_do_not_count(
    java_side: JavaSide, our_side: OurSide, tmp_path: Path
) -> None:
    java, java_records = stored(java_side, tmp_path / "java")
    ours, our_records = stored(our_side, tmp_path / "ours")

    rows = list(enumerate([b"single", b"0", b"1", b"2"]))
    assert java == {LIGHT: rows[:1], OTHER: rows}
    assert ours == {LIGHT: rows, OTHER: rows}
    claims = [one.properties.get(INNER_MULTI_QUEUE_OFFSET) for one in java_records]
    assert claims == ["0,0", None, None, None, "3", "4", "0"]
    claims = [one.properties.get(INNER_MULTI_QUEUE_OFFSET) for one in our_records]
    assert claims == ["0,0", "1", "2", "3", "1", "2", "3"]
    assert [one.body for one in java_records] == [one.body for one in our_records]
    assert java_records[0].properties_raw == our_records[0].properties_raw

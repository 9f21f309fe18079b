"""A consumer that pops, over the wire of a real broker."""

from typing import NamedTuple, Protocol

from remoting.codes import LaterCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import AckMessage, ChangeInvisibleTime, PopMessage, PopMessageResponse
from remoting.receipt import (
    PoppedQueue,
    ReceiptHandle,
    decode_message_offsets,
    decode_receipt,
    decode_start_offsets,
)
from storefmt.formats.message import Record, decode_records
from tests.server.broker.desk import GROUP, TOPIC


class Asks(Protocol):
    """Who sends a request to a broker: a desk, or a client of a process."""

    async def ask(self, code: int, header: Header | None = None) -> Command: ...


class Popped(NamedTuple):
    """One message that a pop gave, and its receipt handle."""

    record: Record
    handle: ReceiptHandle

    @property
    def body(self) -> bytes:
        return self.record.body


def pop_header(**changes: object) -> PopMessage:
    """Return a pop of any queue that does not wait."""
    fields: dict[str, object] = {
        "consumer_group": GROUP,
        "topic": TOPIC,
        "queue_id": -1,
        "max_msg_nums": 32,
        "invisible_time": 60_000,
        "poll_time": 0,
        "born_time": 0,
        "init_mode": 0,
        "exp_type": "TAG",
        "exp": "*",
        **changes,
    }
    return PopMessage(**fields)  # type: ignore[arg-type]


async def ask_pop(desk: Asks, **changes: object) -> Command:
    """Send a pop and return the answer, whatever its code."""
    return await desk.ask(LaterCode.POP_MESSAGE, pop_header(**changes))


async def pop(desk: Asks, **changes: object) -> list[Popped]:
    """Return what a pop gives; nothing if it finds nothing."""
    answer = await ask_pop(desk, **changes)
    return [] if answer.code == 210 else popped_of(answer)


def bodies(popped: list[Popped]) -> list[bytes]:
    return [one.body for one in popped]


def popped_of(answer: Command) -> list[Popped]:
    """Return the messages of an answer with the handles that a Java client would make of it."""
    assert answer.code == 0, answer
    header = answer.header(PopMessageResponse)
    starts = decode_start_offsets(header.start_offset_info)
    offsets = decode_message_offsets(header.msg_offset_info)
    found = []
    for record in decode_records(answer.body):
        own = record.properties.get("POP_CK")
        if own is not None:
            found.append(Popped(record, decode_receipt(own)))
            continue
        queue = PoppedQueue("0", record.queue_id)
        assert record.queue_offset in offsets[queue]
        handle = ReceiptHandle(
            starts[queue],
            header.pop_time,
            header.invisible_time,
            header.revive_queue_id,
            "0",
            "broker-a",
            record.queue_id,
            record.queue_offset,
        )
        found.append(Popped(record, handle))
    return found


def _named(handle: ReceiptHandle, topic: str, group: str) -> dict[str, object]:
    """Return the fields of a request that name one message by its handle."""
    return {
        "consumer_group": group,
        "topic": handle.real_topic(topic, group),
        "queue_id": handle.queue_id,
        "extra_info": handle.encode(),
        "offset": handle.queue_offset,
    }


def ack_header(
    handle: ReceiptHandle, *, topic: str = TOPIC, group: str = GROUP, **changes: object
) -> AckMessage:
    """Return the acknowledgement of a handle."""
    return AckMessage(**{**_named(handle, topic, group), **changes})  # type: ignore[arg-type]


async def ack(desk: Asks, handle: ReceiptHandle, **changes: object) -> Command:
    """Send an acknowledgement and return the answer, whatever its code."""
    return await desk.ask(LaterCode.ACK_MESSAGE, ack_header(handle, **changes))  # type: ignore[arg-type]


async def hide(
    desk: Asks, handle: ReceiptHandle, *, invisible_ms: int, **changes: object
) -> Command:
    """Change the invisible time of a message and return the answer, whatever its code."""
    fields = {**_named(handle, TOPIC, GROUP), "invisible_time": invisible_ms, **changes}
    header = ChangeInvisibleTime(**fields)  # type: ignore[arg-type]
    return await desk.ask(LaterCode.CHANGE_MESSAGE_INVISIBLETIME, header)


def hidden_handle(handle: ReceiptHandle, answer: Command) -> ReceiptHandle:
    """Return the handle that a Java client makes of the answer to ``hide``."""
    ext = answer.ext
    return ReceiptHandle(
        handle.queue_offset,
        int(ext["popTime"]),
        int(ext["invisibleTime"]),
        int(ext["reviveQid"]),
        handle.topic_kind,
        handle.broker_name,
        handle.queue_id,
        handle.queue_offset,
    )

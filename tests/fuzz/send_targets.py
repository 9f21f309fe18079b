"""Target of the kernel of sends: what it takes of a read is what the general way makes of it."""

from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace

from mqserver.broker.send import kernel  # noqa: F401 - loads the forms of the kernel
from mqserver.broker.send.batches import read_batch
from mqserver.broker.send.topic_rules import SendFields, send_fields
from mqserver.broker.serving.answers import SendAnswers
from mqserver.broker.stats.counters import Counter
from mqserver.broker.stored_properties import Recoder
from mqserver.store.results import DispatchEntry, RunMessage
from remoting.acl import ACCESS_KEY, SIGNATURE, UNIQUE_KEY_QUERY, Proof, content_of, sign
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.frame import FrameReader, decode_frame, encode_frame
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import TOPIC_SIZE_V1_MAX, decode_records
from storefmt.formats.properties import CLUSTER
from storefmt.formats.sysflag import HOSTS_V6
from storefmt.kernels import forms
from tests.fuzz.seeds import captured
from tests.fuzz.target import Target

SENDS = (10, 310, 320)
STORE_HOST, PEER_HOST = pack_host("127.0.0.1", 10911), pack_host("127.0.0.1", 5)
NOW_MS = 1_760_000_000_000
BODY_MAX, RECORD_MAX, QUEUES = 1 << 20, 1 << 21, 8
TOPIC_KEYS = {10: "topic", 310: "b", 320: "b"}


@dataclass
class Taken:
    """What a kernel passed on."""

    parts: list[bytes] = field(default_factory=list)
    entries: list[DispatchEntry] = field(default_factory=list)
    handles: list[object] = field(default_factory=list)
    asked: list[tuple[object, ...]] = field(default_factory=list)
    answers: bytes = b""
    opaques: list[int] = field(default_factory=list)
    frame_count: int = 0
    pos: int = 0

    def allows(self, *asked: object) -> bool:
        """Allow every send, as the access control of a broker."""
        self.asked.append(asked)
        return True

    def ack(self, conn: object, answers: bytes, *, opaques: list[int], serialize: int) -> None:
        """Keep the answers, as a turn does."""
        assert serialize == answers[4]
        self.answers, self.opaques = answers, opaques


@cache
def topics() -> tuple[str, ...]:
    """Return the topics of the recorded sends."""
    sends = [decode_frame(FrameReader().feed(data)[0]) for data in _sends()]
    names = {one.ext.get(TOPIC_KEYS[one.code], "") for one in sends}
    return tuple(sorted(name for name in names if 0 < len(name) < TOPIC_SIZE_V1_MAX))


def take(data: bytes, *, is_signed: bool) -> Taken | None:
    """Give a read to a new kernel; None where none was built."""
    kind = forms("SendKernel").get("compiled")
    if kind is None:
        return None
    found = Taken()
    routes = {
        topic: SimpleNamespace(
            topic=topic, topic_bytes=topic.encode(), queue_limit=QUEUES, sys_flag=0,
            retry_group=None, put_nums=Counter(), put_size=Counter(),
        )
        for topic in topics()
    }  # fmt: skip
    ends = dict.fromkeys(range(QUEUES), 0)

    def assign_offsets(queue_id: int, count: int) -> int:
        ends[queue_id] += count
        return ends[queue_id] - count

    table = SimpleNamespace(
        queues={},
        handle=lambda topic, queue_id: queue_id,
        columns=SimpleNamespace(assign_offsets=assign_offsets),
    )
    log = SimpleNamespace(end=0, file_end=1 << 30, parts=found.parts)
    recoder = Recoder("c")
    made = kind(
        allows=found.allows if is_signed else None,
        limits=lambda: (BODY_MAX, RECORD_MAX),
        routes=routes,
        layout_of=recoder.layout_of,
        cluster=f"{CLUSTER}\1c".encode(),
        suffix_of=recoder.batch_suffix,
        appender=SimpleNamespace(
            log=log, table=table, entries=found.entries, handles=found.handles
        ),
        answers=answers(),
        turn=found,
        store_host=STORE_HOST,
    )
    conn = SimpleNamespace(peer_host=PEER_HOST, peer=("127.0.0.1", 5), frame_count=0)
    found.pos = made.store_sends(conn, data, NOW_MS)  # type: ignore[arg-type]
    found.frame_count = conn.frame_count
    assert log.end == sum(map(len, found.parts))
    return found


def answers() -> SendAnswers:
    return SendAnswers(region="R", trace_on=True, store_host=STORE_HOST)


def read_sends(data: bytes) -> None:
    """Give a read to the kernel, and all that it took to the general way."""
    for is_signed in (False, True):
        found = take(data, is_signed=is_signed)
        if found is not None:
            compare(data, found, is_signed=is_signed)


def compare(data: bytes, found: Taken, *, is_signed: bool) -> None:
    """Make of each frame that was taken what the general way makes of it."""
    raws = FrameReader().feed(data[: found.pos])
    records = iter(decode_records(b"".join(found.parts)))
    entries = iter(found.entries)
    expected = b""
    for number, raw in enumerate(raws):
        command = decode_frame(raw)
        send = send_fields(command)
        assert not command.is_response
        assert not command.is_oneway
        assert send.reconsume_times in (0, None)
        if is_signed:
            assert UNIQUE_KEY_QUERY not in command.ext
            assert found.asked[number] == (
                "127.0.0.1", command.code, send.topic, proof_of(command),
            )  # fmt: skip
        log_offsets, queue_offset = [], -1
        for message in messages_of(send, command.body):
            record, entry = next(records), next(entries)
            assert (
                record.topic, record.queue_id, record.flag, record.sys_flag, record.body,
                record.born_ms, record.reconsume_times, record.properties_raw,
            ) == (
                send.topic, send.queue_id, message.flag, send.sys_flag & ~HOSTS_V6,
                bytes(message.body), send.born_timestamp, 0, message.properties,
            )  # fmt: skip
            assert entry == DispatchEntry(
                send.topic, send.queue_id, record.queue_offset, record.log_offset, record.size,
                message.tags_code, NOW_MS, record.sys_flag, message.keys,
            )  # fmt: skip
            log_offsets.append(record.log_offset)
            queue_offset = record.queue_offset if queue_offset < 0 else queue_offset
        expected += answers().stored(
            raw.serialize,
            command.opaque,
            queue_id=send.queue_id,
            queue_offset=queue_offset,
            message_id=answers().message_ids(log_offsets),
        )
    assert next(records, None) is next(entries, None) is None
    assert len(raws) == found.frame_count == len(found.opaques)
    assert found.answers == expected


def proof_of(command: Command) -> Proof:
    """Return what proves the sender of a request, as the general way finds it."""
    ext = command.ext
    signature = ext.get(SIGNATURE, "").encode()
    return Proof(ext.get(ACCESS_KEY), signature, content_of(ext, command.body))


def messages_of(send: SendFields, body: bytes) -> list[RunMessage]:
    """Return the messages of a send as the general way stores them."""
    recoder = Recoder("c")
    if send.batch:
        ends = recoder.batch_suffix(send.properties)
        return [one for run in read_batch(body, ends=ends, illegal="") for one in run]
    recoded = recoder.recode(send.properties)
    assert recoded.named is None
    assert recoded.waits
    return [RunMessage(body, recoded.data, send.flag, recoded.tags_code, recoded.keys)]


def _sends() -> list[bytes]:
    return [one.data for one in captured() if one.kind != "response" and one.code in SENDS]


def _seeds() -> list[bytes]:
    found = []
    for data in _sends():
        command = decode_frame(FrameReader().feed(data)[0])
        found += [data, _signed(command), data + data]
    return found


def _signed(command: Command) -> bytes:
    command.serialize = SerializeType(1 - command.serialize)
    sign(command, "accessKey", "secretKey")
    return encode_frame(command)


def send_targets() -> list[Target]:
    """Return the targets of the kernel of sends."""
    words = (
        '"AccessKey":"',
        '"Signature":"',
        '"_UNIQUE_KEY_QUERY":"',
        "\\u0001",
        "\\u0002",
        "WAIT",
    )
    return [Target("sends", read_sends, (), _seeds, words)]

"""The kernel of sends does what the general way does: same reads in, same bytes everywhere.

random frames, good and bad ── cut into reads ──┬── broker with the kernel ──┐
in both serialisations, signed or not           └── broker without ──────────┴── compared:
answers, every file of the store after a stop, and counters.
"""

import asyncio
import hashlib
import json
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mqserver.broker.app import BrokerApp
from mqserver.broker.handlers import pull as pull_handler
from mqserver.broker.pull import pull_header
from mqserver.broker.send import kernel
from mqserver.broker.topics import topic_config
from mqserver.store import reader
from mqserver.store.commitlog import dispatcher, picking
from remoting.acl import sign
from remoting.aio.resources import Budget, Places, Resources
from remoting.aio.server import ServerConn
from remoting.aio.turns import Turns
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.errors import BadCall, BadFrame
from remoting.frame import FrameReader, RawFrame, decode_frame, encode_frame, frame_bytes
from remoting.serialize import encode_header
from storefmt.config.quoting import quote
from storefmt.dispatch import index_table
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.hosts import pack_host
from tests.remoting.captures import SETS, frames
from tests.server.broker.acl.homes import ACCOUNTS, ADMIN, ELSEWHERE, SECRETS, USER, write_home
from tests.server.broker.acl.homes import OTHER as STRANGER
from tests.server.broker.desk import TOPIC, broker_settings
from tests.server.doubles import FakeClock
from tests.twins import compiled, needs_kernel

COMPILED = compiled("SendKernel")
pytestmark = needs_kernel("SendKernel")

OTHER = "Other-topic"
WHITE = "whiteKey"
HOMES_MAX = 30
START_MS = 1_760_000_000_000
PLAIN = "KEYS\1k1 k2\2UNIQ_KEY\1U1\2WAIT\1true\2TAGS\1TagA"
LONG_NAMES = {
    "a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums",
    "e": "queueId", "f": "sysFlag", "g": "bornTimestamp", "h": "flag", "i": "properties",
    "j": "reconsumeTimes", "k": "unitMode", "l": "maxReconsumeTimes", "m": "batch",
}  # fmt: skip


@pytest.fixture(autouse=True)
def used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernel also where the environment leaves kernels out."""
    monkeypatch.setattr(kernel, "send_kernel", COMPILED)


class Kind(NamedTuple):
    """What is special about the frames of a run."""

    is_binary: bool = False
    """Most headers have the serialisation ROCKETMQ."""
    is_signed: bool = False
    """The broker has accounts, and most requests are signed."""


class Peer(asyncio.Transport):
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.data = bytearray()
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close


def endless_turns() -> Resources:
    """Return resources with which all requests of a read are handled at once, however long."""
    return Resources(Places(), Budget(1 << 30), Turns(lambda: 1.0))


def fields(**changes: object) -> dict[str, str]:
    """Return the fields of a send as a Java client writes them; None leaves one out."""
    values: dict[str, object] = {
        "a": "PG", "b": TOPIC, "c": "TBW102", "d": 4, "e": 1, "f": 0, "g": START_MS - 5, "h": 7,
        "i": PLAIN, "j": 0, "k": "false", "m": "false", "n": "broker-a",
    }  # fmt: skip
    values.update(changes)
    return {name: str(value) for name, value in values.items() if value is not None}


def frame(
    ext: dict[str, str],
    body: bytes = b"hello",
    *,
    code: int = RequestCode.SEND_MESSAGE_V2,
    opaque: int = 1,
    **changes: object,
) -> bytes:
    """Return a request in the layout of a Java client."""
    header = {
        "code": int(code), "extFields": ext, "flag": 0, "language": "JAVA", "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON", "version": 407, **changes,
    }  # fmt: skip
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    return frame_bytes(SerializeType.JSON, text.encode("utf-8", "surrogatepass"), body)


def batch(*entries: BatchEntry, properties: str = "WAIT\1true", **changes: object) -> bytes:
    body = join_batch(list(entries))
    return frame(
        fields(i=properties, m="true"), body, code=RequestCode.SEND_BATCH_MESSAGE, **changes
    )


def long_named(ext: dict[str, str]) -> dict[str, str]:
    return {LONG_NAMES.get(name, name): value for name, value in ext.items()}


ODD_PROPERTIES = (
    "", "KEYS\1a", "WAIT\1TRUE\2A\1b", "WAIT\1false", "A\1b\2A\1c", "A\1\2B\1c", "\1x", "A",
    "A\1b\2",
    "A\1b\2\2C\1d", "DELAY\0012\2UNIQ_KEY\1u", "TRAN_MSG\1true\2PGROUP\1g", "CLUSTER\1x\2A\1b",
    "INNER_MULTI_DISPATCH\1q1,q2", "KEYS\1  \2TAGS\1t", "KEYS\1a  b ", 'A\1"quoted"',
    "A\1back\\slash",
    "A\1\n", "A\1é\2TAGS\1标签\2KEYS\1键 值", "A\1x\1y", "TAGS\1𝄞", "A\1" + "x" * 32_700,
    "A\1" + "x" * 32_760, "\2".join(f"p{n}\1v" for n in range(80)),
    "\2".join(f"p{n}\1v" for n in range(63)), "INNER_MULTI_QUEUE_OFFSET\0019\2A\1b",
)  # fmt: skip

ODD_FIELDS: tuple[dict[str, object], ...] = (
    {"b": "no-such-topic", "c": "nor-this"},
    {"b": OTHER}, {"b": "%RETRY%G"}, {"b": "bad topic"}, {"b": None}, {"e": -1},
    {"e": 3}, {"e": 4}, {"e": "x"}, {"e": "0003"}, {"e": "+1"}, {"e": "1 "}, {"e": 10**9}, {"f": 8},
    {"f": 4}, {"f": 16}, {"f": -1}, {"f": "1" * 12}, {"g": -7}, {"g": "9" * 20}, {"h": -(2**31)},
    {"h": 2**31}, {"j": 3}, {"j": None}, {"k": "TRUE"}, {"k": None}, {"l": 16}, {"l": "z"},
    {"m": "true"}, {"m": None}, {"i": None}, {"d": "x"}, {"d": None}, {"a": None}, {"c": "\\"},
    {"z": "unknown"}, {"n": 'quo"te'},
)  # fmt: skip

ODD_HEADERS: tuple[dict[str, object], ...] = (
    {"flag": 2}, {"flag": 1}, {"version": 100}, {"version": -1}, {"language": "GO"},
    {"language": "KLINGON"}, {"remark": "r"}, {"serializeTypeCurrentRPC": "ROCKETMQ"},
    {"opaque": 2**31}, {"opaque": -4}, {"more": 1},
)  # fmt: skip


def one_frame(rng: random.Random, opaque: int) -> bytes:
    """Return a frame; most of them are plain."""
    kind = rng.random()
    body = rng.randbytes(rng.choice([1, 3, 100, 1_000])) if rng.random() < 0.97 else b""
    if kind < 0.45:
        names = rng.sample(["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "a", "b", "__STARTDELIVERTIME"], 4)
        texts = {"WAIT": "true", "KEYS": "k1 k2"}
        properties = "\2".join(f"{name}\1{texts.get(name, rng.random())}" for name in names)
        ext = fields(i=properties, e=rng.randrange(4), b=rng.choice([TOPIC, TOPIC, OTHER]))
        if rng.random() < 0.2:
            return frame(long_named(ext), body, code=RequestCode.SEND_MESSAGE, opaque=opaque)
        return frame(ext, body, opaque=opaque)
    if kind < 0.60:
        entries = [
            BatchEntry(
                rng.randrange(-3, 3),
                rng.randbytes(rng.randrange(200)),
                rng.choice(BATCH_PROPERTIES),
            )
            for _ in range(rng.choice([1, 2, 32]))
        ]
        suffix = rng.choice(["WAIT\1true"] * 2 + ["A\1b", "WAIT\1false", "TAGS\1t", "DELAY\0011"])
        return batch(*entries, properties=suffix, opaque=opaque)
    if kind < 0.70:
        return frame(fields(i=rng.choice(ODD_PROPERTIES)), body, opaque=opaque)
    if kind < 0.80:
        return frame(fields(**rng.choice(ODD_FIELDS)), body, opaque=opaque)
    if kind < 0.86:
        return frame(fields(), body, **{"opaque": opaque, **rng.choice(ODD_HEADERS)})  # type: ignore[arg-type]
    if kind < 0.90:
        command = Command(code=310, opaque=opaque, body=body, version=407)
        command.ext, command.ext_written = fields(), True
        command.serialize = SerializeType.ROCKETMQ
        return encode_frame(command)
    if kind < 0.93:
        text = json.dumps({"extFields": fields(), "code": 310, "flag": 0, "opaque": opaque})
        return frame_bytes(SerializeType.JSON, text.encode(), body)
    if kind < 0.99:
        return frame(fields(), body, opaque=opaque, code=RequestCode.GET_MAX_OFFSET)
    # A bit is wrong in the header or in the body of a batch.
    data = bytearray(
        frame(fields(), body, opaque=opaque)
        if rng.random() < 0.7
        else batch(BatchEntry(1, b"one", PLAIN.encode()), BatchEntry(2, b"two", b""), opaque=opaque)
    )
    data[rng.randrange(8, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def dressed(rng: random.Random, data: bytes, kind: Kind) -> bytes:
    """Return most frames signed or in the other serialisation; others as they are."""
    (raw,) = FrameReader().feed(data)
    if rng.random() < 0.05 or raw.serialize:
        return data
    try:
        command = decode_frame(raw)
    except BadFrame:
        return data
    if kind.is_signed:
        sign_somehow(rng, command)
    if kind.is_binary:
        command.serialize = SerializeType.ROCKETMQ
        try:
            return in_binary(rng, command, is_twice=kind.is_signed and rng.random() < 0.7)
        except BadCall:
            return data
    # The rest of the header stays as it is, odd or not.
    names = [name for name in command.ext if f'"{name}"'.encode() not in raw.header]
    pairs = "".join(f"{quote(name)}:{quote(command.ext[name])}," for name in names)
    header = raw.header.replace(b'"extFields":{', b'"extFields":{' + pairs.encode(), 1)
    return frame_bytes(raw.serialize, header, raw.body)


def in_binary(rng: random.Random, command: Command, *, is_twice: bool) -> bytes:
    """Return a frame; Java's signed requests have their fields twice, and the last one counts."""
    header = encode_header(command)
    if is_twice:
        pairs = header[21:]
        other = {name: "1" for name in command.ext if rng.random() < 0.5}
        first = encode_header(replace(command, ext=other))[21:]
        header = header[:17] + struct.pack(">i", len(first + pairs)) + first + pairs
    return frame_bytes(SerializeType.ROCKETMQ, header, command.body)


def sign_somehow(rng: random.Random, command: Command) -> None:
    """Sign with one of the accounts, rightly or not."""
    by = rng.choice([USER] * 12 + [ADMIN] * 4 + [WHITE, STRANGER, "nobody", None])
    if by is None:
        return
    if rng.random() < 0.03:
        command.ext[rng.choice(["_UNIQUE_KEY_QUERY", "clé", "A b", "zz"])] = "extra é"
    secret = SECRETS.get(by, "wrongSecret") if rng.random() < 0.95 else "wrongSecret"
    sign(command, by, secret, security_token=rng.choice([None, None, "token"]))
    if rng.random() < 0.03:
        name = rng.choice(["Signature", "AccessKey", "b", "i", "zz"])
        command.ext[name] = command.ext.get(name, "")[1:]


def home_of(root: Path, *, number: int) -> Path:
    """Write one of two sets of accounts."""
    perms = ["T=PUB|SUB", "Other-topic=DENY"] if number % 2 else ["T=PUB", "Other-topic=PUB"]
    user = {"accessKey": USER, "secretKey": SECRETS[USER], "topicPerms": perms}
    white = {"accessKey": WHITE, "secretKey": "whiteSecret", "whiteRemoteAddress": "127.0.0.*"}
    kept = [one for one in ACCOUNTS if one["accessKey"] != USER]
    return write_home(
        root,
        accounts=[user, *kept, *([white] if number % 3 == 0 else [])],
        globalWhiteRemoteAddresses=["10.9.8.*"] if number % 4 < 2 else [],
        # No two of the files have the same size, by which a broker sees a change.
        note="x" * 100 * number,
    )


BATCH_PROPERTIES = (
    PLAIN.encode(), PLAIN.encode() + b"\2", b"", b"TAGS\1t", b"KEYS\1a b", b"A", b"A\1\2B\1c",
    "TAGS\1é".encode(), b"TAGS\1\xff", b"INNER_MULTI_DISPATCH\1q", b"A\1b\2A\1c", b"DELAY\0013",
)  # fmt: skip


@dataclass
class Outcome:
    """What a broker made of the reads."""

    answers: list[object]
    files: dict[str, str]
    counters: dict[str, object]
    taken: list[int] = field(compare=False)
    """The bytes that the kernel took in each read."""


async def run(
    root: Path,
    streams: list[list[bytes]],
    *,
    kind: Kind,
    sync: bool = False,
    file_size: int = 1 << 20,
) -> Outcome:
    """Feed each connection its reads by turns to a new broker; stop it and look at everything."""
    home, homes = root.with_name("home"), 0
    accounts = {"rocketmq_home": home_of(home, number=0), "acl_strict": not sync}
    config = broker_settings(root, sync=sync, acl_enable=kind.is_signed, **accounts)
    config.store.mapped_file_size_commit_log = file_size
    clock = FakeClock(START_MS)
    app = BrokerApp(config, clock, resources=endless_turns())
    await app.start()
    broker = app.broker
    for name in (TOPIC, OTHER, "%RETRY%G", "%DLQ%G"):
        broker.topics._topics[name] = topic_config(name, queue_count=4)
    taken = watch(app)
    conns = [connect(app, number) for number in range(len(streams))]
    rng = random.Random(len(streams))
    # The broker chooses queues at random.
    random.seed(1)
    left = [(conn, iter(reads)) for (conn, _), reads in zip(conns, streams, strict=True)]
    while left:
        at = rng.randrange(len(left))
        conn, reads = left[at]
        data = next(reads, None)
        if data is None:
            del left[at]
            continue
        conn.get_buffer(len(data))[: len(data)] = data
        conn.buffer_updated(len(data))
        if rng.random() < 0.5:
            clock.ms += rng.randrange(3)
            await settle(app)
        if broker.access is not None and rng.random() < 0.1 and homes < HOMES_MAX:
            homes += 1
            home_of(home, number=homes)
            broker.access.reload(clock.ms)
            broker.access.reload(clock.ms)
    await settle(app)
    host = broker.store_host
    counters = counters_of(app, conns)
    answers = [list(answered(bytes(peer.data), host)) for _, peer in conns]
    for conn, _ in conns:
        conn.connection_lost(None)
    await app.stop()
    return Outcome(answers, files_of(root, host), counters, taken)


async def both(
    root: Path, patch: pytest.MonkeyPatch, streams: list[list[bytes]], **options: Any
) -> tuple[Outcome, Outcome]:
    """Feed the same reads to a broker with the kernel, and to one without."""
    compiled = await run(root / "on", streams, **options)
    with patch.context() as patched:
        patched.setattr(kernel, "send_kernel", None)
        patched.setattr(pull_handler, "parse_pull", pull_header.parse_pull_pure)
        patched.setattr(dispatcher, "_add", None)
        patched.setattr(index_table, "_key_rows", index_table.key_rows_pure)
        patched.setattr(index_table, "_add_rows", index_table.add_rows_pure)
        patched.setattr(reader, "pick", picking.pick_pure)
        return compiled, await run(root / "off", streams, **options)


def watch(app: BrokerApp) -> list[int]:
    """Return a list of the bytes that the kernel takes in each read from now on."""
    taken: list[int] = []
    take = app._server.on_bytes
    if take is not None:

        def counted(conn: ServerConn, data: bytes) -> int:
            taken.append(take(conn, data))
            return taken[-1]

        app._server.on_bytes = counted
    return taken


def connect(app: BrokerApp, number: int) -> tuple[ServerConn, Peer]:
    """Return a new connection; the one with number 2 comes from elsewhere."""
    ip = ELSEWHERE if number == 2 else "127.0.0.1"
    conn, peer = ServerConn(app._server, number), Peer()
    conn.peer, conn.peer_host = (ip, number), pack_host(ip, number)
    conn.address = f"{ip}:{number}"
    conn.connection_made(peer)
    return conn, peer


def counters_of(app: BrokerApp, conns: list[tuple[ServerConn, Peer]]) -> dict[str, object]:
    broker = app.broker
    return {
        "frames": [conn.frame_count for conn, _ in conns],
        "closed": [conn.is_closing for conn, _ in conns],
        "failed": broker.stats.put_failed_count,
        "put": broker.store.appender.put_count,
        **{
            f"{kind} {name}": (counter.sum, counter.times)
            for kind in ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE")
            for name in (TOPIC, OTHER)
            for counter in [broker.stats.counter(kind, name)]
        },
    }


async def settle(app: BrokerApp) -> None:
    """Wait until all that was put is written, and synced with SYNC_FLUSH, and answered."""
    for _ in range(3):
        await asyncio.sleep(0)
    turn = app.broker.group_commit
    while turn.is_due or turn.is_writing or turn._flushing or app.broker.slices._running_count:
        await asyncio.sleep(0.001)
    # Some answers wait until topics.json has the topic that their message created.
    await app._files.settle()
    for _ in range(3):
        await asyncio.sleep(0)


def answered(data: bytes, host: bytes) -> Iterator[object]:
    """Yield each answer, with the broker's own host replaced."""
    for raw in FrameReader(header_size_max=1 << 24).feed(data):
        answer = decode_frame(raw)
        ext = {
            name: value.replace(host.hex().upper(), "HOST") for name, value in answer.ext.items()
        }
        yield answer.code, answer.opaque, answer.remark, ext, list(ext), answer.serialize


def files_of(root: Path, host: bytes) -> dict[str, str]:
    """Return a hash of what the store has in log, queues and index, without the broker's host."""
    found = {}
    for path in sorted(root.rglob("*")):
        kind = path.relative_to(root).parts[0]
        if path.is_file() and kind in {"commitlog", "consumequeue", "index"}:
            data = path.read_bytes().replace(host, b"HOSTHOST")
            # An index file has the name of the moment at which it was made.
            name = f"index {len(found)}" if kind == "index" else str(path.relative_to(root))
            found[name] = hashlib.sha256(data).hexdigest()
    return found


def streams_of(rng: random.Random, count: int, kind: Kind) -> list[list[bytes]]:
    """Return for some connections the reads that bring random frames."""
    streams = []
    for number in range(3):
        made = [one_frame(rng, number * 10_000 + at) for at in range(count)]
        if kind != Kind():
            made = [dressed(rng, data, kind) for data in made]
        if not number:
            # The kernel sees the beginning of a read: here it sees most frames.
            streams.append(made)
            continue
        data = b"".join(made)
        if rng.random() < 0.3:
            data += struct.pack(">iI", 5, 900) + b"no frame"
        reads = []
        while data:
            size = rng.choice([1, 7, 100, 2_000, 20_000, 65_536])
            reads.append(data[:size])
            data = data[size:]
        streams.append(reads)
    return streams


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *((Kind(), seed) for seed in range(12)),
        *((Kind(is_binary=True), seed) for seed in range(4)),
        *((Kind(is_signed=True), seed) for seed in range(8)),
        *((Kind(is_binary=True, is_signed=True), seed) for seed in range(4)),
    ],
    ids=str,
)
async def test_the_same_reads_leave_the_same_bytes_with_and_without_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, seed: int
) -> None:
    streams = streams_of(random.Random(seed), 150, kind)
    sync, file_size = seed % 2 == 1, 1 << 16 if seed % 4 == 3 else 1 << 20

    compiled, plain = await both(
        tmp_path, monkeypatch, streams, sync=sync, file_size=file_size, kind=kind
    )

    assert in_any_order(compiled) == in_any_order(plain)
    assert compiled.counters == plain.counters
    assert compiled.files == plain.files
    assert compiled.counters["put"] > 100
    assert sum(compiled.taken) > 2_000
    assert not sum(plain.taken)


def in_any_order(outcome: Outcome) -> list[list[str]]:
    """Return the answers of each read; how long the disk takes decides which refusal overtakes."""
    return [sorted(map(repr, answers)) for answers in outcome.answers]


@pytest.mark.parametrize(
    "kind", [Kind(), Kind(is_binary=True), Kind(is_signed=True), Kind(True, True)], ids=str
)
async def test_a_header_with_any_wrong_bit_is_read_as_without_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    command = decode_frame(FrameReader().feed(frame(fields()))[0])
    if kind.is_signed:
        sign(command, USER, SECRETS[USER])
    command.serialize = SerializeType(kind.is_binary)
    whole = encode_frame(command)
    streams = []
    for at in range(8 * 4, 8 * (len(whole) - len(b"hello"))):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        # The first one makes the route.
        streams.append([whole, bytes(data)])

    compiled, plain = await both(tmp_path, monkeypatch, streams, kind=kind)

    assert in_any_order(compiled) == in_any_order(plain)
    assert compiled.counters == plain.counters
    assert compiled.files == plain.files
    assert len(streams) > 1_000


@pytest.mark.parametrize(("is_signed", "left_count"), [(False, 21), (True, 46)])
async def test_recorded_sends_of_java_are_taken(
    fact_tables: Path, tmp_path: Path, *, is_signed: bool, left_count: int
) -> None:
    account = {"accessKey": "HFCTuser1", "secretKey": "secret1234", "defaultTopicPerm": "PUB"}
    home = write_home(tmp_path / "home", accounts=[account])
    settings = {"acl_enable": is_signed, "rocketmq_home": home}
    config = broker_settings(tmp_path / "store", **settings)
    app = BrokerApp(config, FakeClock(START_MS), resources=endless_turns())
    await app.start()
    take = app._server.on_bytes
    conn, _ = connect(app, 5)
    seen, left = 0, []
    for name in SETS:
        for one in frames(fact_tables, name):
            if one.kind == "response" or one.code not in (10, 310, 320):
                continue
            data = frame_bytes(one.serialize, one.header, one.body)
            command = decode_frame(RawFrame(one.serialize, one.header, one.body))
            topic = command.ext.get("b") or command.ext.get("topic", "")
            app.broker.topics._topics.setdefault(topic, topic_config(topic, queue_count=16))
            command_of = decode_frame(FrameReader().feed(frame(fields(b=topic), flag=2))[0])
            sign(command_of, "HFCTuser1", "secret1234")
            conn.on_frames(FrameReader().feed(encode_frame(command_of)))
            seen += 1
            if take(conn, data) != len(data):
                left.append(command)
    await settle(app)
    await app.stop()

    assert (seen, len(left)) == (50, left_count)
    if is_signed:
        # With a signature only those of a client with a wrong secret key are left.
        assert {one.ext["a"] for one in left if "AccessKey" in one.ext} == {"HFCT_PGB"}
    else:
        # Left are a one-way send of each client, transactions and refused sends.
        left = [one for one in left if not one.is_oneway]
        left = [one for one in left if "TRAN_MSG" not in one.ext.get("i", "")]
        assert [one.code for one in left] == [10] * 10 + [320, 310]


@pytest.mark.parametrize(
    "data",
    [
        frame(fields()),
        frame(long_named(fields()), code=RequestCode.SEND_MESSAGE),
        frame(dict(reversed(fields().items()))),
        frame(fields(i="A\1é\2TAGS\1标签\2KEYS\1键 值\2")),
        batch(BatchEntry(1, b"one", PLAIN.encode()), BatchEntry(2, b"two", b"")),
    ],
    ids=["Java", "long names", "another order", "other languages", "batch"],
)
async def test_plain_sends_are_taken_whole(tmp_path: Path, data: bytes) -> None:
    config = broker_settings(tmp_path)
    app = BrokerApp(config, FakeClock(START_MS), resources=endless_turns())
    await app.start()
    app.broker.topics._topics[TOPIC] = topic_config(TOPIC, queue_count=4)
    conn, peer = connect(app, 5)
    general = data.replace(b'"flag":0', b'"flag":2')
    # The first one makes the route.
    conn.on_frames(FrameReader().feed(general))
    take = app._server.on_bytes

    taken = [take(conn, data * 3), take(conn, data[:-1]), take(conn, general + data)]

    await settle(app)
    assert taken == [3 * len(data), 0, 0]
    assert [answer.code for answer in map(decode_frame, FrameReader().feed(bytes(peer.data)))] == [
        0, 0, 0,
    ]  # fmt: skip
    conn.connection_lost(None)
    await app.stop()

"""What our client itself costs: sends and pulls against a peer that answers at once, no socket.

    producer or consumer ── Channel ── one write a turn ── Peer
                               └────── one read a turn ─── prepared answers

    python -m benchmarks.client_replay                    every load, CPU us a message
    python -m benchmarks.client_replay async --profile    the functions that take the time

Rule: as in ``benchmarks.replay``: this says which of two versions of the code is cheaper, not
what a client reaches, which is ``benchmarks.client``. The figures contain the peer, which costs
little: it finds the code and the number of a request and writes the header of an answer.
"""

import argparse
import asyncio
import cProfile
import pstats
import statistics
import struct
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, cast

from mqclient import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    Message,
    MessageExt,
    MQClient,
    Producer,
    PushConsumer,
    PushSettings,
)
from remoting.bodies import (
    BrokerData,
    GetConsumerListByGroupResponseBody,
    QueueData,
    TopicRouteData,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.frame import FrameReader, RawFrame, decode_frame, encode_frame
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import encode_record

TOPIC: Final = "replay_topic"
ADDRESS: Final = "127.0.0.1:10911"
BATCH: Final = 32
QUEUE_COUNT: Final = 8
WINDOW: Final = 256
_HEAD: Final = struct.Struct(">iI")
_STORED: Final = (
    b'{"code":0,"extFields":{"queueId":"3","TRACE_ON":"true","MSG_REGION":"DefaultRegion",'
    b'"msgId":"7F00000100002A9F0000000000002B67","queueOffset":"1234567"},"flag":1,'
    b'"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":407}'
)
_FOUND: Final = (
    b'{"code":0,"extFields":{"suggestWhichBrokerId":"0","nextBeginOffset":"%d",'
    b'"maxOffset":"999999","minOffset":"0"},"flag":1,"language":"JAVA","opaque":%d,'
    b'"remark":"FOUND","serializeTypeCurrentRPC":"JSON","version":407}'
)
_ROUTE: Final = TopicRouteData(
    queue_datas=[
        QueueData(
            broker_name="bench", read_queue_nums=QUEUE_COUNT, write_queue_nums=QUEUE_COUNT, perm=6
        )
    ],
    broker_datas=[BrokerData(cluster="C", broker_name="bench", broker_addrs={0: ADDRESS})],
)


@dataclass
class Server:
    """A name server and broker in one.

    Attributes:
        consumer: the client id of the only member of each group.
        pulled: the records of each pull of a queue, by queue offset; the same for all queues.
    """

    consumer: str = ""
    pulled: dict[int, bytes] = field(default_factory=dict)


class Peer(asyncio.Transport):
    """The server's end of one connection.

    Args:
        protocol: the client's end.
        server: what is answered.
    """

    def __init__(self, protocol: asyncio.BufferedProtocol, server: Server) -> None:
        super().__init__({"peername": ("127.0.0.1", 10_911), "sockname": ("127.0.0.1", 40_000)})
        self._protocol = protocol
        self._server = server
        self._reader = FrameReader()
        self._answers: deque[bytes] = deque()
        self._closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._deliver)
        for raw in self._reader.feed(bytes(data)):
            answer = self._answer(raw)
            if answer is not None:
                self._answers.append(answer)

    def _deliver(self) -> None:
        """Let the client read as much as one read of a socket brings."""
        if self._closed:
            return
        data = b"".join(self._answers)
        self._answers.clear()
        while data:
            buffer = memoryview(cast(bytearray, self._protocol.get_buffer(-1)))
            part, data = data[: len(buffer)], data[len(buffer) :]
            buffer[: len(part)] = part
            self._protocol.buffer_updated(len(part))

    def _answer(self, raw: RawFrame) -> bytes | None:
        """Return the answer to a request, None for one that gets none or has to wait."""
        header = raw.header
        if header.startswith(b'{"code":310,'):
            return _frame(_STORED % _number(header, b'"opaque":'))
        if header.startswith(b'{"code":11,'):
            begin = _number(header, b'"queueOffset":"')
            records = self._server.pulled.get(begin)
            if records is None:
                return None
            return _frame(_FOUND % (begin + BATCH, _number(header, b'"opaque":')), records)
        return self._general(raw)

    def _general(self, raw: RawFrame) -> bytes | None:
        request = decode_frame(raw)
        if request.is_oneway:
            return None
        if request.code == RequestCode.QUERY_CONSUMER_OFFSET:
            return encode_frame(request.response(ResponseCode.QUERY_NOT_FOUND))
        body = b""
        if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            body = _ROUTE.encode_strict()
        elif request.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP:
            members = [self._server.consumer]
            body = GetConsumerListByGroupResponseBody(consumer_id_list=members).encode()
        return encode_frame(request.response(body=body))

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close


def _number(header: bytes, key: bytes) -> int:
    at = header.rindex(key) + len(key)
    end = at
    while header[end] in b"0123456789":
        end += 1
    return int(header[at:end])


def _frame(header: bytes, body: bytes = b"") -> bytes:
    return _HEAD.pack(4 + len(header) + len(body), len(header)) + header + body


def records(count: int, body_size: int) -> dict[int, bytes]:
    """Return the records of the pulls of one queue with ``count`` messages."""
    host = pack_host("127.0.0.1", 10_911)
    all_records = [
        encode_record(
            topic=TOPIC.encode(), queue_id=3, queue_offset=at, log_offset=at * 1_300, flag=0,
            sys_flag=0, born_ms=1_700_000_000_000, born_host=host, store_ms=1_700_000_000_001,
            store_host=host, reconsume_times=0, prepared_transaction_offset=0,
            body=b"x" * body_size,
            properties=b"MIN_OFFSET\x010\x02MAX_OFFSET\x011234\x02CONSUME_START_TIME\x01"
            b"1700000000000\x02UNIQ_KEY\x017F00000156314E0E2F2A67F7275800%02X\x02CLUSTER\x01"
            b"DefaultCluster\x02WAIT\x01true" % (at & 255),
        )
        for at in range(count)
    ]  # fmt: skip
    return {at: b"".join(all_records[at : at + BATCH]) for at in range(0, count, BATCH)}


async def send_async(client: MQClient, count: int, body: bytes) -> float:
    """Send with a window; return the CPU seconds."""
    producer = Producer(client, "replay_producer")
    await producer.send(Message(TOPIC, body))

    left = count

    async def sender() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await producer.send(Message(TOPIC, body))

    begin_s = time.thread_time()
    await asyncio.gather(*(sender() for _ in range(WINDOW)))
    return time.thread_time() - begin_s


async def push(client: MQClient, count: int, body: bytes) -> float:
    """Consume all that the peer has; return the CPU seconds from the first message on."""
    settings = PushSettings(
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        consume_message_batch_max_size=BATCH,
    )
    seen, begin_s = 0, 0.0
    done = asyncio.Event()
    async with PushConsumer(client, "replay_group", settings) as consumer:
        consumer.subscribe(TOPIC)

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            nonlocal seen, begin_s
            begin_s = begin_s or time.thread_time()
            seen += len(messages)
            if seen == count:
                done.set()
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        await consumer.start()
        await done.wait()
        return time.thread_time() - begin_s


Load = Callable[[MQClient, int, bytes], Awaitable[float]]
LOADS: Final[dict[str, Load]] = {"async": send_async, "push": push}


async def measure(options: argparse.Namespace, profile: cProfile.Profile) -> dict[str, list[float]]:
    """Run the loads; return CPU us a message of each round."""
    loop = asyncio.get_running_loop()
    server = Server()

    async def connect(
        factory: Callable[[], asyncio.BufferedProtocol], *_: object, **__: object
    ) -> tuple[Peer, asyncio.BufferedProtocol]:
        protocol = factory()
        peer = Peer(protocol, server)
        protocol.connection_made(peer)
        return peer, protocol

    loop.create_connection = connect  # type: ignore[assignment]
    results: dict[str, list[float]] = {}
    for name in options.loads:
        for _ in range(options.rounds):
            if name == "push":
                server.pulled = records(options.messages // QUEUE_COUNT, options.body)
            async with MQClient("127.0.0.1:9876") as client:
                server.consumer = client.client_id
                if options.profile:
                    profile.enable()
                took_s = await LOADS[name](client, options.messages, b"x" * options.body)
                profile.disable()
            results.setdefault(name, []).append(took_s / options.messages * 1e6)
    return results


def main() -> int:
    """Print a line for every load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("loads", nargs="*", default=list(LOADS), help=" ".join(LOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=20_480, help="of one round")
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    profile = cProfile.Profile()
    results = asyncio.run(measure(options, profile))
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
    for name, figures in results.items():
        print(
            f"{name:10} {min(figures):7.2f} us/msg least, {statistics.median(figures):7.2f} median"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

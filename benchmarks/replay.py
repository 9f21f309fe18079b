"""What the broker itself costs: frames of a Java client fed to a running broker, no socket.

    frames, built before ── 64 KiB reads ── Link.buffer_updated ── … ── one write a turn
                                                            answers are counted and dropped

    python -m benchmarks.replay                      every load, CPU us a message
    python -m benchmarks.replay batch --profile      the functions that take the time
    python -m benchmarks.replay --dir /dev/shm       store on tmpfs: no disk in the figures
    python -m benchmarks.replay --binary --signed    the other serialisation, and access control
    python -m benchmarks.replay send --queues 50000 --messages 5000 --body 100 --rounds 40
                                                     a broker with many queues, and its memory
    python -m benchmarks.replay send --queues 50000 --beside 8 --rounds 20
                                                     by turns into all and into 8 of them

Sockets, wake-ups and the client are left out, so this says which of two versions of the code
is cheaper, not what a broker reaches: that is ``benchmarks.run``. Figures are CPU time of the
broker's thread; the least of the rounds is the one that the rest of the machine disturbed
least. Compare two checkouts by turns (A B A B), never one after the other. Memory is that of
this process after all rounds: with the frames of one round, so make few at a time to tell.
"""

import argparse
import asyncio
import cProfile
import gc
import pstats
import shutil
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mqserver.broker.app import BrokerApp
from mqserver.broker.config import BrokerConfig
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.tls import Tls
from mqserver.store.store_config import StoreConfig
from remoting.acl import sign
from remoting.aio.server import ServerConn
from remoting.aio.tls import ServerTls, TlsMode
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.frame import RawFrame, decode_frame, encode_frame
from storefmt.formats.hosts import pack_host

READ_SIZE: Final = 65_536
BATCH: Final = 32
TOPIC: Final = "replay_topic"
ACCOUNT: Final = ("replayKey", "replaySecret")
ACCOUNTS: Final = f"""accounts:
- {{accessKey: {ACCOUNT[0]}, secretKey: {ACCOUNT[1]}, defaultTopicPerm: PUB|SUB,
   defaultGroupPerm: SUB}}
"""
_HEAD: Final = struct.Struct(">iI")
_ENTRY: Final = struct.Struct(">iiiii")


@dataclass(frozen=True, slots=True)
class Form:
    """In which form the requests are sent."""

    is_binary: bool
    is_signed: bool

    def apply(self, command: Command) -> bytes:
        """Return the frame of a command."""
        if self.is_binary:
            command.serialize = SerializeType.ROCKETMQ
        if self.is_signed:
            sign(command, *ACCOUNT)
        return encode_frame(command)


class Frames:
    """Makes requests in the layout of a Java client 4.9.7, every one different."""

    def __init__(
        self,
        body_size: int,
        queue_count: int,
        ends: Sequence[int] = (),
        *,
        form: Form | None = None,
    ) -> None:
        self._form = form or Form(is_binary=False, is_signed=False)
        self._body = b"x" * body_size
        self._queue_count = queue_count
        # The end of each queue, in entries, when the frames are made.
        self._ends = list(ends)
        self._count = 0
        self._opaque = 0

    def _unique_id(self) -> str:
        # Address, pid, class loader, ms, counter: about fifty ids share one ms.
        self._count += 1
        return f"7F00000156314E0E2F2A{0x67F72758 + self._count // 50:08X}{self._count & 0xFFFF:04X}"

    def _frame(self, code: int, ext: str, body: bytes = b"") -> bytes:
        self._opaque += 1
        header = (
            f'{{"code":{code},"extFields":{{{ext}}},"flag":0,"language":"JAVA","opaque":'
            f'{self._opaque},"serializeTypeCurrentRPC":"JSON","version":407}}'
        ).encode()
        if self._form.is_binary or self._form.is_signed:
            return self._form.apply(decode_frame(RawFrame(SerializeType.JSON, header, body)))
        return _HEAD.pack(4 + len(header) + len(body), len(header)) + header + body

    def _send(self, code: int, properties: str, body: bytes, *, batch: bool) -> bytes:
        queue_id = self._opaque % self._queue_count
        ext = (
            f'"a":"replay_producer","b":"{TOPIC}","c":"TBW102","d":"{self._queue_count}",'
            f'"e":"{queue_id}",'
            f'"f":"0","g":"{time.time_ns() // 1_000_000}","h":"0","i":"{properties}","j":"0",'
            f'"k":"false","m":"{"true" if batch else "false"}","n":"bench"'
        )
        return self._frame(code, ext, body)

    def plain(self) -> bytes:
        """Return a send without tag and keys, as the load program sends it."""
        text = f"UNIQ_KEY\\u0001{self._unique_id()}\\u0002WAIT\\u0001true"
        return self._send(310, text, self._body, batch=False)

    def keyed(self) -> bytes:
        """Return a send with a tag and one key of the user."""
        unique = self._unique_id()
        text = (
            f"KEYS\\u0001order-{self._count}\\u0002UNIQ_KEY\\u0001{unique}"
            "\\u0002WAIT\\u0001true\\u0002TAGS\\u0001TagA"
        )
        return self._send(310, text, self._body, batch=False)

    def batch(self) -> bytes:
        """Return a batch of 32 messages."""
        entries = []
        for _ in range(BATCH):
            properties = f"UNIQ_KEY\1{self._unique_id()}\2WAIT\1true".encode()
            size = _ENTRY.size + 2 + len(self._body) + len(properties)
            entries += [
                _ENTRY.pack(size, 0, 0, 0, len(self._body)),
                self._body,
                len(properties).to_bytes(2, "big"),
                properties,
            ]
        return self._send(320, "WAIT\\u0001true", b"".join(entries), batch=True)

    def mixed(self) -> bytes:
        """Return a send with a tag, or without one: every other message of a queue has it."""
        return self.keyed() if self._opaque // self._queue_count % 2 else self.plain()

    def _pull(self, queue_id: int, queue_offset: int, *, tags: str = "*", flag: int = 4) -> bytes:
        return self._frame(
            11,
            f'"queueId":"{queue_id}","maxMsgNums":"{BATCH}","sysFlag":"{flag}","commitOffset":"0",'
            f'"subscription":"{tags}","ReqT":"0","suspendTimeoutMillis":"20000","bname":"bench",'
            f'"topic":"{TOPIC}","queueOffset":"{queue_offset}","expressionType":"TAG",'
            '"subVersion":"0","consumerGroup":"replay_group"',
        )

    def pull(self) -> bytes:
        """Return a pull of the next 32 messages of a queue."""
        turn, queue_id = divmod(self._count, self._queue_count)
        self._count += 1
        return self._pull(queue_id, turn * BATCH)

    def tail(self) -> bytes:
        """Return a pull of the newest 32 messages of a queue."""
        queue_id = self._count % self._queue_count
        self._count += 1
        return self._pull(queue_id, self._ends[queue_id] - BATCH)

    def tagged(self) -> bytes:
        """Return a pull of the tagged ones among the newest 64 messages of a queue."""
        queue_id = self._count % self._queue_count
        self._count += 1
        return self._pull(queue_id, self._ends[queue_id] - 2 * BATCH, tags="TagA")

    def held(self) -> bytes:
        """Return a pull that has to wait, and the send that ends its wait."""
        # The send after it has the next number, which chooses its queue.
        queue_id = (self._opaque + 1) % self._queue_count
        pull = self._pull(queue_id, self._ends[queue_id], flag=6)
        self._ends[queue_id] += 1
        return pull + self.plain()


@dataclass(frozen=True, slots=True)
class Load:
    """One kind of request."""

    title: str
    make: Callable[[Frames], bytes]
    messages: int
    """Messages in a request."""
    one_a_turn: bool = False
    """The next request is read when the one before was answered."""
    fill: Callable[[Frames], bytes] | None = None
    """What is sent before, so that there is something to pull."""


LOADS: Final = {
    "sync": Load("send, one a turn", Frames.plain, 1, one_a_turn=True),
    "send": Load("sends, 64 KiB a turn", Frames.plain, 1),
    "keyed": Load("sends with tag and key", Frames.keyed, 1),
    "batch": Load("batches of 32", Frames.batch, BATCH),
    "pull": Load("pulls of 32, queues by turns", Frames.pull, BATCH, fill=Frames.plain),
    "tail": Load("pulls of the newest 32", Frames.tail, BATCH, fill=Frames.plain),
    "tagged": Load("pulls of 32 of the newest 64, by tag", Frames.tagged, BATCH, fill=Frames.mixed),
    "held": Load("pull that waits, and send", Frames.held, 1, one_a_turn=True, fill=Frames.plain),
}


class Drain(asyncio.Transport):
    """A transport whose peer takes everything at once."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 40_000), "sockname": ("127.0.0.1", 10_911)})
        self.size = 0
        self.is_reading = True

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.size += len(data)

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


def reads(load: Load, frames: Frames, count: int) -> Iterator[bytes]:
    """Yield what each read of the socket brings for ``count`` messages."""
    requests = [load.make(frames) for _ in range(count // load.messages)]
    if load.one_a_turn:
        yield from requests
        return
    stream = b"".join(requests)
    for at in range(0, len(stream), READ_SIZE):
        yield stream[at : at + READ_SIZE]


async def replay(conn: ServerConn, drain: Drain, chunks: list[bytes]) -> float:
    """Feed reads to a connection whenever it reads; return the CPU seconds used."""
    begin_s = time.thread_time()
    for chunk in chunks:
        conn.get_buffer(READ_SIZE)[: len(chunk)] = chunk
        conn.buffer_updated(len(chunk))
        await asyncio.sleep(0)
        while not drain.is_reading:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    return time.thread_time() - begin_s


async def measure(options: argparse.Namespace, root: Path) -> dict[str, list[float]]:
    """Run the loads on one broker; return CPU us a message of each round."""
    form = Form(options.binary, options.signed)
    (root / "conf").mkdir()
    (root / "conf" / "plain_acl.yml").write_text(ACCOUNTS)
    config = BrokerConfig(
        acl_enable=options.signed,
        rocketmq_home=root,
        broker_ip1="127.0.0.1",
        broker_ip2="127.0.0.1",
        bind_address="127.0.0.1",
        listen_port=0,
        default_topic_queue_nums=options.queues,
        # The first byte of a connection is looked at in its socket, and here is none.
        tls=Tls(ServerTls(mode=TlsMode.DISABLED)),
        store=StoreConfig(store_path_root_dir=root),
    )
    app = BrokerApp(config, SystemClock())
    await app.start()
    drain = Drain()
    conn = ServerConn(app._server, 0)
    conn.peer, conn.peer_host = ("127.0.0.1", 1), pack_host("127.0.0.1", 1)
    conn.connection_made(drain)
    results: dict[str, list[float]] = {}
    profile = cProfile.Profile()

    def new_frames(count: int) -> Frames:
        store = app.broker.store
        ends = [store.max_offset(TOPIC, queue_id) for queue_id in range(count)]
        return Frames(options.body, count, ends, form=form)

    counts = [options.queues] if options.beside is None else [options.queues, options.beside]
    for name in options.loads:
        load = LOADS[name]
        # Every queue is there before a round begins.
        count = max(options.messages if load.fill else 0, options.queues)
        fill = Load("", load.fill or Frames.plain, 1)
        first = Frames(options.body, options.queues, form=form)
        await replay(conn, drain, list(reads(fill, first, count)))
        frames = {count: new_frames(count) for count in counts}
        await replay(conn, drain, list(reads(load, frames[options.queues], options.messages // 4)))
        for count in counts * options.rounds:
            if load.fill:
                frames[count] = new_frames(count)
            chunks = list(reads(load, frames[count], options.messages))
            # The background writes of the round before must not fall into this one.
            await asyncio.sleep(0.1)
            if options.profile:
                profile.enable()
            seconds = await replay(conn, drain, chunks)
            profile.disable()
            title = name if len(counts) == 1 else f"{name} {count}"
            results.setdefault(title, []).append(seconds / options.messages * 1e6)
    print(memory())
    conn.connection_lost(None)
    await app.stop()
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    return results


def memory() -> str:
    """Return what memory this process has, in words."""
    gc.collect()
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    sizes = {line[0]: int(line[1]) / 1024 for line in lines if line[-1] == "kB"}
    return f"{sizes['VmRSS:']:.1f} MB resident, {sizes['RssAnon:']:.1f} of it anonymous"


def main() -> int:
    """Print a line for every load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("loads", nargs="*", default=list(LOADS), help=" ".join(LOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=20_480, help="of one round")
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--queues", type=int, default=8, help="of the topic, used by turns")
    parser.add_argument("--beside", type=int, help="of these the first so many, by turns with all")
    parser.add_argument("--dir", type=Path, help="where to make the store for a while")
    parser.add_argument("--binary", action="store_true", help="headers serialised as ROCKETMQ")
    parser.add_argument("--signed", action="store_true", help="requests signed for an account")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="mq-replay-", dir=options.dir))
    try:
        results = asyncio.run(measure(options, root))
    finally:
        shutil.rmtree(root)
    for name, figures in results.items():
        print(
            f"{name:10} {min(figures):7.2f} us/msg least, {statistics.median(figures):7.2f} median"
            f"   {LOADS[name.split()[0]].title}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A half topic with producers and an operator, on a disk that can lose power."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mqserver.broker.clients.consumer_offsets import Offsets
from mqserver.broker.transaction.check_requests import CheckRequests
from mqserver.broker.transaction.half_messages import GROUP, commit_message, op_message, prepare
from mqserver.broker.transaction.transaction_checks import HOUR_MS, CheckRules, TransactionChecks
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import PutMessage, PutResult, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import StoreFailed
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.headers import CheckTransactionState
from storefmt.config.tables import ConsumerOffsets
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import Record, decode_record, decode_records
from storefmt.names import HALF_TOPIC
from tests.server.broker.contexts import context_of, puts_of
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import abandon, flush, open_store, small_config

ROOT = Path("/store")
HOST = pack_host("127.0.0.1", 10911)
TOPIC = "T"
PRODUCERS = "PG"
START_MS = 1_700_000_000_000
TIMEOUT_MS = 6_000


class Producers(CheckRequests):
    """The producers of a world: it says whether one is connected, and notes what it is asked."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def can_ask(self, group: str, topic: str) -> bool:
        return self._world.has_producer

    def ask(self, group: str, question: Command) -> None:
        self._world.questions.append((group, question))


@dataclass
class World:
    """One broker's transactions; ``power_cut`` and ``restart`` go on with what is left."""

    sync: bool = False
    check_max: int = 15
    reserved_ms: int = 72 * HOUR_MS
    now_ms: int = START_MS
    disk: SimDisk = field(default_factory=SimDisk)
    saved: ConsumerOffsets = field(default_factory=ConsumerOffsets)
    questions: list[tuple[str, Command]] = field(default_factory=list)
    refusal: RequestRefused | None = None
    has_producer: bool = True

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Start on what the disk holds."""
        self.store: MessageStore = open_store(self._config(), disk=self.disk)
        self.offsets = Offsets(self.saved)
        self._waiting: list[Callable[[ResponseCode], None]] = []
        self.context = context_of(self.store, offsets=self.offsets)
        self.checks = TransactionChecks(
            self.context,
            puts_of(self._put, self._waiting.append),
            Producers(self),
            rules=lambda context: CheckRules(TIMEOUT_MS, self.check_max, self.reserved_ms),
        )

    def _config(self) -> StoreConfig:
        return small_config(ROOT, sync=self.sync, log_file_size=16_384)

    def _put(self, message: PutMessage, now_ms: int) -> PutResult:
        if self.refusal is not None:
            raise self.refusal
        result = self.store.put(message, now_ms)
        assert result.status is PutStatus.PUT_OK
        return result

    # What clients do.

    def send(self, key: str, **properties: str) -> int:
        """Send a prepared message; return the log offset of its half message."""
        message = PutMessage(
            topic=TOPIC,
            topic_bytes=TOPIC.encode(),
            queue_id=0,
            body=key.encode(),
            properties=b"",
            sys_flag=4,
            born_ms=self.now_ms,
            born_host=HOST,
            store_host=HOST,
        )
        prepare(message, {"TRAN_MSG": "true", "PGROUP": PRODUCERS, "UNIQ_KEY": key, **properties})
        return self._put(message, self.now_ms).log_offset

    def decide(self, log_offset: int, *, commit: bool) -> None:
        """Let a producer decide on the half message at a log offset."""
        half = self.half(log_offset)
        if commit:
            self._put(commit_message(half), self.now_ms)
        self._put(op_message(half, store_host=HOST, now_ms=self.now_ms), self.now_ms)

    def half(self, log_offset: int) -> Record:
        data = self.store.reader.read_record(log_offset)
        assert data is not None
        return decode_record(data)

    def asked(self) -> dict[str, list[int]]:
        """Return and forget what producers were asked: key -> log offsets to answer with."""
        found: dict[str, list[int]] = {}
        for _, command in self.questions:
            header = command.header(CheckTransactionState)
            found.setdefault(header.msg_id or "", []).append(header.commit_log_offset)
        self.questions.clear()
        return found

    # What the broker does.

    def settle(self) -> None:
        """End a turn: write, flush when that is the promise, tell who waits."""
        waiting, self._waiting[:] = list(self._waiting), []
        code = ResponseCode.SUCCESS
        try:
            self.store.write(self.now_ms)
            if self.sync:
                flush(self.store)
        except StoreFailed:
            code = ResponseCode.SERVICE_NOT_AVAILABLE
        for done in waiting:
            done(code)

    def flush(self) -> None:
        """Bring everything to the disk."""
        self.settle()
        flush(self.store)
        self.checks.settle()

    def begin(self) -> bool:
        return self.checks.begin(self.now_ms)

    def step(self) -> bool:
        more = self.checks.step(self.now_ms)
        self.settle()
        return more

    def round(self) -> dict[str, list[int]]:
        """Run one whole round; return whom it asked."""
        self.flush()
        assert self.begin()
        while self.step():
            pass
        self.flush()
        return self.asked()

    def save(self) -> None:
        """Save the offsets as the timer does."""
        self.checks.settle()
        self.saved = self.offsets.table()

    def restart(self) -> None:
        """Kill the process; what was written is still in the page cache."""
        abandon(self.store)
        self.questions.clear()
        self.open()

    def power_cut(self, seed: int) -> None:
        """Stop the machine."""
        abandon(self.store)
        self.questions.clear()
        self.disk = self.disk.crash(seed)
        self.open()

    # What there is.

    def read(self, topic: str) -> list[Record]:
        """Return every readable record of queue 0."""
        found: list[Record] = []
        at, end = self.store.min_offset(topic, 0), self.store.max_offset(topic, 0)
        while at < end:
            got = self.store.reader.get_message(topic, 0, at, count_max=32)
            found += decode_records(b"".join(got.chunks))
            at = got.next_offset
        return found

    def delivered(self) -> list[str]:
        """Return the keys of the committed messages."""
        return [record.body.decode() for record in self.read(TOPIC)]

    def progress(self) -> tuple[int, int]:
        """Return the committed progress in the half and the op topic."""
        return (
            self.offsets.get(GROUP, HALF_TOPIC, queue_id=0),
            self.offsets.get(GROUP, "RMQ_SYS_TRANS_OP_HALF_TOPIC", queue_id=0),
        )

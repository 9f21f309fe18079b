"""Tries at every call of a run of a store what a kill or a power cut may leave.

    run ── call ── call ── call …                       one scenario, one seed
             │       ├ power cut: each un-synced part lost, kept or an older version
             │       └ kill: everything that was written is there
             └ each: open ── check ── append ── power cut, anywhere in this ── open ── check

Rule: the producer's ``Promise`` is all that counts. What is found is a beginning of what
was sent, in the order of the log, and not shorter than what was acknowledged; after a kill it is
all that was written, synced or not. Nothing that a recovery discarded comes back. Each safe
point that is written counts, of each queue, the entries of records below it and no other. All is
decided by the seed of the scenario.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from mqserver.store.recovery.safe_point import read_safe_point
from mqserver.store.results import PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.message import decode_record
from storefmt.paths import StorePaths
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import START_MS, bodies, flush, message, open_store, records_of_key

TOPIC = "topic-a"
QUEUES = (0, 1)
APPENDED_MAX = 3
REBUILD_EVERY = 60
"""Every so many states the derived files are held against a fresh rebuild."""


@dataclass
class Promise:
    """What a producer knows.

    Attributes:
        sent: queue id and body of each message, in log order.
        written: how many of the first of them must be there after a kill.
        acknowledged: how many of the first of them must be there after a power cut.
        expired: how many of the first of them retention may have deleted.
        gone: a topic that was deleted for good, empty for none.
    """

    sent: list[tuple[int, bytes]] = field(default_factory=list)
    acknowledged: int = 0
    expired: int = 0
    gone: str = ""
    written: int = 0

    def copy(self) -> "Promise":
        """Return an independent copy."""
        return replace(self, sent=list(self.sent))

    def after_kill(self) -> "Promise":
        """Return what must be there when the process dies and the machine does not."""
        return replace(self.copy(), acknowledged=self.written)


def choices(doubts: Sequence[int], limit: int, chance: random.Random) -> Iterator[list[int]]:
    """Yield every combination if there are at most ``limit``, else so many different ones."""
    total = prod(doubts)
    if total <= limit:
        for number in range(total):
            yield _digits(number, doubts)
        return
    seen: set[int] = set()
    yield [0] * len(doubts)
    yield [count - 1 for count in doubts]
    for _ in range(limit - 2):
        mood = chance.choice([0.1, 0.5, 0.9])
        choice = [
            count - 1 if chance.random() < mood else chance.randrange(count) for count in doubts
        ]
        key = hash(tuple(choice))
        if key not in seen:
            seen.add(key)
            yield choice


def _digits(number: int, doubts: Sequence[int]) -> list[int]:
    digits: list[int] = []
    for count in doubts:
        number, digit = divmod(number, count)
        digits.append(digit)
    return digits


class Explorer:
    """Tries the crash states of one run.

    Args:
        limit: most crash states to try at one call.
        seed: the seed that chooses among them.
    """

    def __init__(self, config: StoreConfig, *, limit: int, seed: int) -> None:
        self.count = 0
        """States that were opened and checked; no two of them were equal."""
        self.promise = Promise()
        self._config = config
        self._limit = limit
        self._chance = random.Random(seed)
        self._seen: set[tuple[int, int, int, str]] = set()
        self._safe_point = b""

    def watch(self, disk: SimDisk) -> None:
        """Try the crash states of ``disk`` before each of its calls from now on."""

        def look(name: str, path: Path) -> None:
            self.look(disk)

        disk.on_call = look

    def look(self, disk: SimDisk) -> None:
        """Try the crash states of now."""
        text = disk.files().get("/store/dispatch.json", b"")
        if text != self._safe_point:
            self._safe_point = text
            check_safe_point(disk, gone=self.promise.gone)
        killed, promise = disk.kept(), self.promise.after_kill()
        if self._is_new(killed, promise):
            self._live_on(killed, promise)
        for choice in choices(disk.doubts(), self._limit, self._chance):
            after = disk.crash_as(choice)
            if self._is_new(after, self.promise):
                self._live_on(after, self.promise.copy())

    def _is_new(self, disk: SimDisk, promise: Promise) -> bool:
        key = disk.fingerprint(), promise.acknowledged, len(promise.sent), promise.gone
        known = key in self._seen
        self._seen.add(key)
        return not known

    def _live_on(self, disk: SimDisk, promise: Promise) -> None:
        """Open, check and append; cut the power meanwhile, then open and check again."""
        cut = disk.clock + self._chance.randrange(1, 24)
        cuts: list[tuple[SimDisk, Promise]] = []

        def look(name: str, path: Path) -> None:
            if disk.clock == cut:
                cuts.append((disk.crash(self._chance.randrange(1 << 30)), promise.copy()))

        disk.on_call = look
        store = self._check(disk, promise)
        for _ in range(self._chance.randrange(APPENDED_MAX + 1)):
            send(store, promise, self._chance)
        if self._chance.random() < 0.5 and promise.sent:
            flush(store)
            promise.acknowledged = len(promise.sent)
        disk.on_call = SimDisk().on_call
        cuts = cuts or [(disk.crash(self._chance.randrange(1 << 30)), promise)]
        for second, known in cuts:
            if self._is_new(second, known):
                self._check(second, known)

    def _check(self, disk: SimDisk, promise: Promise) -> MessageStore:
        """Open the store and compare it with the promise, which becomes what was found."""
        self.count += 1
        store = open_store(self._config, disk=disk)
        check(store, promise)
        # What retention deleted cannot be built again.
        if self.count % REBUILD_EVERY == 0 and store.min_log_offset == 0:
            check_derived(disk.kept(), self._config)
        return store


def send(
    store: MessageStore,
    promise: Promise,
    chance: random.Random,
    *,
    size: int = 0,
    may_fail: bool = False,
) -> None:
    """Put and write one message.

    Args:
        size: size of its body; 0 for a random one.
        may_fail: whether the disk may refuse the next file of the log, and so the message.
    """
    if put(store, promise, chance, size=size, may_fail=may_fail):
        store.write(START_MS + len(promise.sent) - 1)
        promise.written = len(promise.sent)


def put(
    store: MessageStore,
    promise: Promise,
    chance: random.Random,
    *,
    size: int = 0,
    may_fail: bool = False,
) -> bool:
    """Put one message for the next write; return whether it was taken. See ``send``."""
    number = len(promise.sent)
    one = message(number, queue_id=chance.choice(QUEUES), topic=TOPIC)
    one.body = (b"%d:%x:" % (number, chance.randrange(1 << 30))).ljust(
        size or chance.randrange(20, 900), b"%c" % (65 + number % 26)
    )
    status = store.put(one, START_MS + number).status
    if may_fail and status is PutStatus.CREATE_MAPPED_FILE_FAILED:
        return False
    assert status is PutStatus.PUT_OK
    promise.sent.append((one.queue_id, one.body))
    return True


def check_safe_point(disk: SimDisk, *, gone: str) -> None:
    """Assert that a safe point tells of the records below it, by counting them in the log.

    Args:
        gone: a topic that may just be being deleted.
    """
    point = read_safe_point(disk, StorePaths(Path("/store")))
    if point is None or not disk.files().get("/store/commitlog/" + "0" * 20):
        return
    ends: dict[tuple[str, int], int] = {}
    for path, data in sorted(disk.files().items()):
        base = int(Path(path).name) if path.startswith("/store/commitlog/") else -1
        pos = 0
        while base >= 0 and data[pos + 4 : pos + 8] == b"\xda\xa3\x20\xa7":
            record = decode_record(data, pos)
            if base + pos < point.safe_log_offset:
                ends[record.topic, record.queue_id] = record.queue_offset + 1
            pos += record.size
    told = {(topic, queue_id): row.end for topic, queue_id, row in point.queues}
    assert {key: end for key, end in told.items() if key[0] == TOPIC} == {
        key: end for key, end in ends.items() if key[0] == TOPIC
    }, (point.safe_log_offset, gone, told, ends)


def check(store: MessageStore, promise: Promise) -> None:
    """Compare an open store with a promise, which becomes exactly what was found."""
    assert store.recovery.damaged == []
    assert not promise.gone or (promise.gone, 0) not in store.queues()
    count = sum(store.max_offset(TOPIC, queue_id) for queue_id in QUEUES)
    assert count >= promise.acknowledged, "acknowledged messages are lost"
    for queue_id in QUEUES:
        sent = [
            (number, body)
            for number, (queue, body) in enumerate(promise.sent[:count])
            if queue == queue_id
        ]
        low = store.min_offset(TOPIC, queue_id)
        assert all(number < promise.expired for number, _ in sent[:low])
        assert bodies(store, TOPIC, queue_id) == [body for _, body in sent[low:]]
    for number in {count - 1, count * 2 // 3} if count else ():
        if number >= promise.expired:
            (record,) = records_of_key(store, TOPIC, f"k{number}", count_max=2)
            assert promise.sent[number][1] in record
    del promise.sent[count:]
    promise.acknowledged = promise.written = count


def check_derived(disk: SimDisk, config: StoreConfig) -> None:
    """Assert that queues and index are, byte by byte, what the log alone gives."""
    open_store(config, disk=disk).close(START_MS)
    found = derived(disk)
    bare = disk.kept()
    for path in disk.files():
        if not path.startswith("/store/commitlog/"):
            bare.unlink(Path(path))

    open_store(config, disk=bare).close(START_MS)

    assert derived(bare) == found


def derived(disk: SimDisk) -> dict[str, bytes]:
    """Return the files of log, queues and index; index files, named by time, by their order."""
    found: dict[str, bytes] = {}
    names = sorted(disk.files().items())
    for path, data in names:
        if path.startswith(("/store/commitlog/", f"/store/consumequeue/{TOPIC}/")):
            found[path] = data
        elif path.startswith("/store/index/"):
            found[f"index {len(found)}"] = data
    return found

"""A million pending timer messages: how fast they enter the wheel, and what a start takes.

    python -m benchmarks.timers [COUNT] [DIRECTORY]

It puts the messages into a store of its own, spread over a day, lets them enter the wheel, and
opens the store again: after an orderly stop, after a kill, and with the files of the timer lost.
Memory is what the timer adds to the resident set of this process. Times are seconds of the
processor, so that other work of the machine does not count.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.logs import finish, put_message
from benchmarks.servers import heap_mb
from mqserver.broker.timer.service import TimerService
from mqserver.broker.timer.timer_messages import TimerRules
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from remoting.codes import ResponseCode
from storefmt.names import TIMER_TOPIC
from tests.server.broker.contexts import context_of, puts_of

COUNT: Final = 1_000_000
DAY_MS: Final = 86_400_000
TURN: Final = 1_000


def now_ms() -> int:
    """Return the time in ms."""
    return time.time_ns() // 1_000_000


class Bench:
    """One store with timer messages."""

    def __init__(self, root: Path) -> None:
        self.config = StoreConfig(store_path_root_dir=root, message_index_enable=False)
        self.safe: list[Callable[[ResponseCode], None]] = []

    def open(self) -> None:
        """Open the store and a timer on it."""
        self.store = MessageStore.open(self.config, now_ms=now_ms())
        self.timer = self.service()

    def service(self) -> TimerService:
        """Return a timer on the store."""
        puts = puts_of(self.store.put, self.safe.append)
        return TimerService(context_of(self.store, config=self.config), puts)

    def fill(self, count: int) -> None:
        """Put timer messages that are due in the next day, after ten minutes."""
        rules = TimerRules(self.config)
        for number in range(count):
            at_ms = now_ms()
            one = put_message("orders", 0, b"x" * 100, now_ms=at_ms)
            due_ms = at_ms + 600_000 + number * 7919 * 1000 % (DAY_MS - 600_000)
            named = {"TIMER_DELIVER_MS": str(due_ms), "UNIQ_KEY": f"{number:032X}"}
            rules.apply(one, named, now_ms=at_ms)
            self.store.put(one, at_ms)
            if number % TURN == TURN - 1:
                self.store.write(at_ms)
                finish(self.store, self.store.housekeeping(at_ms))
        self.store.write(now_ms())

    def enter(self) -> None:
        """Let every message enter the wheel, and make that durable."""
        while self.timer.step(now_ms()) or self.timer.queue_offset < self.waiting_count:
            finish(self.store, self.store.housekeeping(now_ms()))
        self.flush()

    @property
    def waiting_count(self) -> int:
        """The number of messages in the queue of the timer."""
        return self.store.max_offset(TIMER_TOPIC, 0)

    def flush(self) -> None:
        """Make the log and the files of the timer durable."""
        job = self.store.begin_flush()
        if job is not None:
            job.do_work()
            self.store.end_flush(job)
        flush = self.timer.flush_job(now_ms(), at_end=True)
        if flush is not None:
            flush.do_work()
            self.timer.end_flush(flush)

    def ready(self) -> float:
        """Return how many seconds the timer takes until it has entered all and delivers."""
        began = time.process_time()
        while self.timer.step(now_ms()) or self.timer.queue_offset < self.waiting_count:
            pass
        return time.process_time() - began

    def close(self) -> None:
        """Stop in order."""
        self.flush()
        self.timer.close()
        self.store.close(now_ms())


def main() -> int:
    """Measure, and print one JSON object."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    root = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None)) / "store"
    bench, found = Bench(root), {"count": count}
    try:
        bench.open()
        began = time.process_time()
        bench.fill(count)
        found["put_s"] = round(time.process_time() - began, 1)
        before, began = heap_mb(os.getpid()), time.process_time()
        bench.enter()
        found["enter_s"] = round(time.process_time() - began, 1)
        found["memory_mb"] = int(heap_mb(os.getpid()) - before)
        bench.close()
        bench.open()
        found["start_after_stop_s"] = round(bench.ready(), 2)
        # Without the last flush, as after a kill.
        bench.timer.close()
        bench.timer = bench.service()
        found["start_after_kill_s"] = round(bench.ready(), 2)
        bench.timer.close()
        bench.store.remove_timer_files()
        found["start_without_files_s"] = round(bench.ready(), 2)
        bench.close()
    finally:
        shutil.rmtree(root.parent)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Which calls that change files the event loop makes itself, as docs/decisions/0014 lists them."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqserver.broker import disk_work
from mqserver.broker.serving import flusher
from mqserver.store.disk.disk import RealDisk, RealFile
from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from tests.server.broker.desk import TOPIC, broker_settings, running
from tests.waiting import until

OF_FILES = ("pwrite", "fdatasync", "allocate", "truncate")
OF_PATHS = ("rename", "unlink", "mkdir", "fsync_dir", "sync_all", "rmdir")
ALLOWED = {
    "pwrite consumequeue",
    "mkdir consumequeue",
    "open consumequeue",
    "rename consumequeue",
    "truncate consumequeue",
    "pwrite index",
    "open index",
    "mkdir index",
    "truncate index",
    "allocate index",
    # The first file of an empty log, which nobody could make ahead.
    "mkdir commitlog",
    "open commitlog",
    "allocate commitlog",
    # The timer opens its files at its first message.
    "mkdir config",
    "open config",
    "fsync_dir commitlog",
    "fsync_dir config",
    "mkdir store",
    "pwrite timerlog",
    "open timerlog",
    "mkdir timerlog",
    "fsync_dir timerlog",
    "pwrite timerwheel",
    "open timerwheel",
    "truncate timerwheel",
    "fsync_dir store",
}


class Calls:
    """The calls of the event loop's thread, each with the room of the store that it changes."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: set[str] = set()
        self._root = root
        self._thread = threading.current_thread()
        for name in OF_FILES:
            monkeypatch.setattr(RealFile, name, self._noted(name, getattr(RealFile, name), _name))
        for name in OF_PATHS:
            monkeypatch.setattr(RealDisk, name, self._noted(name, getattr(RealDisk, name), str))
        whole_open = RealDisk.open

        def opened(disk: RealDisk, path: Any, *, create: bool = False, size: int = 0) -> Any:
            if create:
                self._note("open", str(path))
            return whole_open(disk, path, create=create, size=size)

        monkeypatch.setattr(RealDisk, "open", opened)

    def _noted(
        self, name: str, call: Callable[..., Any], path_of: Callable[[Any], str]
    ) -> Callable[..., Any]:
        def noted(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(owner, RealFile) or args:
                self._note(name, path_of(owner if isinstance(owner, RealFile) else args[0]))
            return call(owner, *args, **kwargs)

        return noted

    def _note(self, name: str, path: str) -> None:
        if threading.current_thread() is self._thread:
            parts = Path(path).relative_to(self._root).parts
            self.found.add(f"{name} {parts[0] if parts else 'store'}")


def _name(file: RealFile) -> str:
    return os.readlink(f"/proc/self/fd/{file.fileno()}")


@pytest.mark.parametrize("sync", [False, True])
async def test_the_loop_makes_no_call_that_the_table_does_not_list(
    sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The compiled thread would not be seen; it makes no call in the loop by its nature.
    monkeypatch.setattr(flusher, "disk_thread", None)
    monkeypatch.setattr(disk_work, "HOUSEKEEPING_MS", 20)
    config = broker_settings(tmp_path, sync=sync)
    config.store.flush_interval_consume_queue_ms = 20
    config.store.flush_consume_queue_thorough_interval_ms = 50
    config.store.flush_interval_commit_log_ms = 20
    config.flush_consumer_offset_interval_ms = 20
    async with running(tmp_path, config=config) as desk:
        calls = Calls(tmp_path, monkeypatch)
        await desk.create_topic()
        await desk.create_topic("gone")
        for number in range(100):
            await desk.send(bytes(9_000), properties=f"KEYS\1k{number}\2")
        await desk.send(b"d", properties="DELAY\0011\2")
        await desk.send(b"t", properties="TIMER_DELAY_MS\x011000\x02")
        await desk.send(b"x", topic="gone")
        await desk.commit(3)
        answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic="gone"))
        assert answer.code == 0
        store = desk.app.broker.store
        await until(lambda: store.flushed_offset == store.written_offset)
        await until(lambda: (tmp_path / "consumequeue" / TOPIC).exists())
        found = set(calls.found)

    print(sorted(found))
    assert found <= ALLOWED

"""State files written by a thread, with a disk that refuses."""

import asyncio
from pathlib import Path

import pytest

from server.broker.files.saves import StateFiles


class Disk:
    """Keeps what is written; refuses while ``broken``."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []
        self.broken = False

    def write(self, path: Path, text: str) -> None:
        if self.broken:
            raise OSError(28, "no space left")
        self.written.append((path.name, text))


async def test_marks_of_one_turn_share_a_write_and_each_is_told() -> None:
    disk, told = Disk(), []
    files = StateFiles(write=disk.write)
    files.add(Path("topics.json"), lambda: lambda: "content")
    files.open()
    both = asyncio.Event()

    def saved(error: OSError | None) -> None:
        told.append(error)
        if len(told) == 2:
            both.set()

    files.mark("topics", saved)
    files.mark("topics", saved)
    await both.wait()
    written = list(disk.written)
    await files.close()

    assert written == [("topics.json", "content")]
    assert told == [None, None]


async def test_nothing_is_written_before_open_and_all_of_it_at_the_end() -> None:
    disk = Disk()
    files = StateFiles(write=disk.write)
    files.add(Path("a.json"), lambda: lambda: "A")
    files.add(Path("b.json"), lambda: lambda: "B")
    files.mark("a")
    await asyncio.sleep(0)
    before = len(disk.written)
    await files.close()
    assert (before, disk.written) == (0, [("a.json", "A"), ("b.json", "B")])


async def test_refusing_disk_is_told_and_the_next_mark_tries_again() -> None:
    disk, told = Disk(), []
    files = StateFiles(write=disk.write)
    files.add(Path("a.json"), lambda: lambda: "A")
    files.open()
    for disk.broken in (True, False):
        done = asyncio.Event()

        def saved(error: OSError | None, done: asyncio.Event = done) -> None:
            told.append(error)
            done.set()

        files.mark("a", saved)
        await done.wait()
    await files.close()
    (failed, worked) = told

    assert isinstance(failed, OSError)
    assert worked is None


async def test_close_writes_the_others_and_raises_when_one_fails() -> None:
    disk = Disk()

    def write(path: Path, text: str) -> None:
        disk.broken = path.name == "a.json"
        disk.write(path, text)

    files = StateFiles(write=write)
    files.add(Path("a.json"), lambda: lambda: "A")
    files.add(Path("b.json"), lambda: lambda: "B")
    files.open()
    with pytest.raises(OSError, match="no space"):
        await files.close()
    assert disk.written == [("b.json", "B")]


async def test_a_file_is_written_at_the_first_look_and_then_only_after_a_change() -> None:
    disk = Disk()
    files = StateFiles(write=disk.write)
    files.add(Path("a.json"), lambda: lambda: "A")
    files.add(Path("b.json"), lambda: lambda: "B", is_needed=False)
    files.open()

    async def look(change_count: int) -> list[str]:
        files.mark_changed("a", change_count)
        files.mark_changed("b", change_count)
        await files.settle()
        written, disk.written = [name for name, _ in disk.written], []
        return written

    found = [await look(0), await look(0), await look(1)]
    await files.close()

    assert found == [["a.json"], [], ["a.json", "b.json"]]

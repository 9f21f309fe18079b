"""State files written by a thread, with a disk that refuses."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.files.saves import StateFiles


class Disk:
    """Keeps what is written; refuses while ``broken``."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []
        self.broken = False

    def write(self, path: Path, text: str) -> None:
        if self.broken:
            raise OSError(28, "no space left")
        self.written.append((path.name, text))


def files_on(write: Callable[[Path, str], None], *names: str) -> StateFiles:
    """Return files that have their names as content, in capitals."""
    files = StateFiles(write=write)
    for name in names:
        files.add(Path(f"{name}.json"), lambda name=name: name.upper)
    return files


async def test_marks_of_one_turn_share_a_write_and_each_is_told() -> None:
    disk, told = Disk(), []
    files = files_on(disk.write, "topics")
    files.open()
    both = asyncio.Event()

    def saved(error: OSError | None) -> None:
        told.append(error)
        if len(told) == 2:
            both.set()

    files.mark("topics", saved)
    files.mark("topics", saved)
    await both.wait()

    assert disk.written == [("topics.json", "TOPICS")]
    assert told == [None, None]
    await files.close()


async def test_nothing_is_written_before_open_and_all_of_it_at_the_end() -> None:
    disk = Disk()
    files = files_on(disk.write, "a", "b")
    files.mark("a")
    await asyncio.sleep(0)
    before = len(disk.written)
    await files.close()
    assert (before, disk.written) == (0, [("a.json", "A"), ("b.json", "B")])


async def test_refusing_disk_is_told_and_the_next_mark_tries_again() -> None:
    disk, told = Disk(), []
    files = files_on(disk.write, "a")
    files.open()
    for disk.broken in (True, False):
        done = asyncio.Event()

        def saved(error: OSError | None, done: asyncio.Event = done) -> None:
            told.append(error)
            done.set()

        files.mark("a", saved)
        await done.wait()
    await files.close()

    assert [type(error) for error in told] == [OSError, type(None)]


async def test_close_writes_the_others_and_raises_when_one_fails() -> None:
    disk = Disk()

    def write(path: Path, text: str) -> None:
        disk.broken = path.name == "a.json"
        disk.write(path, text)

    files = files_on(write, "a", "b")
    files.open()
    with pytest.raises(OSError, match="no space"):
        await files.close()
    assert disk.written == [("b.json", "B")]


async def test_a_file_is_written_at_the_first_look_and_then_only_after_a_change() -> None:
    disk = Disk()
    files = files_on(disk.write, "a")
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

"""At every step of a replacement a crash or an error leaves a complete content behind."""

import contextlib
from pathlib import Path

import pytest

from mqserver.runtime.jsonfile import Files, load_state_file, write_atomic
from storefmt.config.tables import DelayOffsets


class Crash(Exception):
    """The machine stops here."""


class FailingFiles(Files):
    """The real file system up to step ``good_steps``; then it tears a write and fails."""

    def __init__(self, good_steps: int, error: Exception) -> None:
        self._left = good_steps
        self._error = error

    def _step(self) -> None:
        if self._left == 0:
            raise self._error
        self._left -= 1

    def write_synced(self, path: Path, data: bytes) -> None:
        if self._left == 0:
            path.write_bytes(data[: len(data) // 2])
        self._step()
        super().write_synced(path, data)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self._step()
        super().sync_directory(path)


def readable(path: Path) -> list[str]:
    """Return what a reader that falls back to .bak can find, best first."""
    backup = path.with_name(path.name + ".bak")
    return [file.read_text() for file in (path, backup) if file.exists()]


def test_the_new_content_is_there_and_the_old_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"

    write_atomic(path, "one")
    write_atomic(path, "zwölf")

    assert readable(path) == ["zwölf", "one"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["topics.json", "topics.json.bak"]


@pytest.mark.parametrize("good_steps", range(4))
@pytest.mark.parametrize("error", [Crash(), OSError(28, "no space left")])
def test_a_failure_at_any_step_leaves_the_old_or_the_new(tmp_path, good_steps, error) -> None:
    path = tmp_path / "topics.json"
    write_atomic(path, "oldest")
    write_atomic(path, "old")

    with pytest.raises(type(error)):
        write_atomic(path, "fresh", files=FailingFiles(good_steps, error))

    assert readable(path)[0] in ("old", "fresh")


def test_the_next_write_after_a_crash_works(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    write_atomic(path, "old")
    with pytest.raises(Crash):
        write_atomic(path, "lost", files=FailingFiles(2, Crash()))

    write_atomic(path, "fresh")

    assert readable(path) == ["fresh", "old"]


def test_the_first_write_needs_no_old_file(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_atomic(tmp_path / "new.json", "x", files=FailingFiles(0, OSError(5, "bad disk")))

    write_atomic(tmp_path / "new.json", "x")

    assert readable(tmp_path / "new.json") == ["x"]


def delays(queue_offset: int) -> str:
    return DelayOffsets({1: queue_offset}).encode()


@pytest.mark.parametrize("good_steps", range(5))
@pytest.mark.parametrize("damaged", ["", "{"])
def test_good_copy_of_a_damaged_file_outlives_a_failure_of_the_next_write(
    tmp_path: Path, good_steps: int, damaged: str
) -> None:
    """A damaged file must not become the copy before there is a new content."""
    path = tmp_path / "delayOffset.json"
    path.write_text(damaged)
    path.with_name("delayOffset.json.bak").write_text(delays(7))
    assert load_state_file(path, DelayOffsets.decode) == DelayOffsets({1: 7})

    with contextlib.suppress(Crash):
        write_atomic(path, delays(8), files=FailingFiles(good_steps, Crash()))

    found = load_state_file(path, DelayOffsets.decode)
    assert found.offsets[1] in (7, 8)


@pytest.mark.parametrize("good_steps", range(2))
def test_file_that_could_not_be_put_aside_is_as_before(tmp_path: Path, good_steps: int) -> None:
    path = tmp_path / "delayOffset.json"
    path.write_text("{")
    path.with_name("delayOffset.json.bak").write_text(delays(7))

    with pytest.raises(Crash):
        load_state_file(path, DelayOffsets.decode, files=FailingFiles(good_steps, Crash()))

    assert load_state_file(path, DelayOffsets.decode) == DelayOffsets({1: 7})


@pytest.mark.parametrize("good_steps", range(3))
def test_without_a_copy_the_file_is_there_at_every_step(tmp_path: Path, good_steps: int) -> None:
    path = tmp_path / "ha.json"
    write_atomic(path, "old", keeps_old=False)

    with pytest.raises(Crash):
        write_atomic(path, "fresh", files=FailingFiles(good_steps, Crash()), keeps_old=False)

    assert readable(path) == ["old" if good_steps < 2 else "fresh"]

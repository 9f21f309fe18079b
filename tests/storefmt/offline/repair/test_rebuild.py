"""Queues and index from the log: byte for byte what real brokers made."""

import shutil
from pathlib import Path

import pytest

from storefmt.errors import BadCall
from storefmt.formats.consumequeue import decode_entries
from storefmt.names import DELAY_LEVELS, parse_delay_levels
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import StoreShape
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, rebuilt, state_of, store_of

PARTS = ("consumequeue", "consumequeue_ext", "index")


def files_of(root: Path, part: str) -> dict[str, Path]:
    found = (path for path in (root / part).rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path for path in found}


def index_of(root: Path) -> list[bytes]:
    return [path.read_bytes() for _, path in sorted(files_of(root, "index").items())]


def assert_same_files(made: Path, real: Path, part: str) -> None:
    left, right = files_of(made, part), files_of(real, part)
    assert sorted(left) == sorted(right)
    for name, path in left.items():
        assert path.stat().st_size == right[name].stat().st_size, name
        assert same_data(path, right[name]), name


def same_data(left: Path, right: Path) -> bool:
    """Compare in windows, so that stock index files (420 MB of holes) take no memory."""
    with left.open("rb") as a, right.open("rb") as b:
        while True:
            x, y = a.read(8 << 20), b.read(8 << 20)
            if x != y:
                return False
            if not x:
                return True


@pytest.mark.parametrize("name", HEALTHY)
def test_rebuilt_files_are_those_of_the_real_broker(
    name: str, golden: Golden, tmp_path: Path
) -> None:
    path = store_of(golden, name)
    before = state_of(path)

    rebuilt(path, tmp_path / "out")

    for part in PARTS:
        # After a kill the real broker forgets the beginning of its index (#3868).
        if part != "index" or not name.startswith("crash"):
            assert_same_files(tmp_path / "out", path, part)
    assert state_of(path) == before


@pytest.mark.parametrize("name", ["basic", "ipv6"])
def test_nothing_of_the_old_files_is_needed_but_their_sizes(
    name: str, golden: Golden, tmp_path: Path
) -> None:
    path, conf = golden.store(name), golden.conf(name)
    real = tmp_path / "real"
    shutil.copytree(path, real)
    shutil.rmtree(path / "consumequeue")
    shutil.rmtree(path / "index")
    shape = StoreShape(
        queue_file_size=int(conf["mappedFileSizeConsumeQueue"]),
        index_slot_count=int(conf["maxHashSlotNum"]),
        index_entry_count=int(conf["maxIndexNum"]),
    )

    rebuilt(path, tmp_path / "out", shape)

    assert_same_files(tmp_path / "out", real, "consumequeue")
    # The names of index files are the times at which they were made.
    assert index_of(tmp_path / "out") == index_of(real)


def test_each_queue_and_index_file_lost_alone_comes_back(golden: Golden, tmp_path: Path) -> None:
    path, real = golden.store("basic"), golden.store("basic")
    derived = [file for part in PARTS for file in files_of(path, part).values()]
    for number, file in enumerate(derived):
        whole = file.read_bytes()
        file.unlink()
        out = tmp_path / str(number)
        rebuilt(path, out)
        file.write_bytes(whole)
        assert_same_files(out, real, "consumequeue")
        assert index_of(out) == index_of(real)
        shutil.rmtree(out)


def test_a_delay_queue_gets_due_times_of_other_levels(ipv6: Path, tmp_path: Path) -> None:
    later = " ".join(f"{ms // 1000 + 1}s" for ms in parse_delay_levels(DELAY_LEVELS))

    rebuilt(ipv6, tmp_path / "out", StoreShape(delay_levels=later))

    name = next(iter(files_of(ipv6, "consumequeue/SCHEDULE_TOPIC_XXXX")))
    old, new = (decode_entries((root / name).read_bytes()) for root in (ipv6, tmp_path / "out"))
    assert new[0].tags_code == old[0].tags_code + 1000


def test_a_deleted_topic_does_not_come_back(basic: Path, tmp_path: Path) -> None:
    topics = basic / "config" / "topics.json"
    topics.write_text(topics.read_text().replace('"tiny"', '"other"'))
    shutil.rmtree(basic / "consumequeue" / "tiny")

    done = rebuilt(basic, tmp_path / "out")

    assert not (tmp_path / "out" / "consumequeue" / "tiny").exists()
    assert any("topic tiny is not in topics.json" in note for note in done.notes)


@pytest.mark.parametrize(("size", "slots"), [(-1, 0), (0, -5), (1 << 40, 0)])
def test_sizes_that_fit_no_file_are_refused(
    size: int, slots: int, ipv6: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadCall):
        rebuilt(ipv6, tmp_path / "out", StoreShape(queue_file_size=size, index_slot_count=slots))


def test_out_must_be_new_and_apart(ipv6: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "link").symlink_to(ipv6)
    for out in (ipv6, ipv6 / "new", tmp_path / "full", tmp_path / "full/x", tmp_path / "link/in"):
        with pytest.raises(BadCall):
            OutputDirectory.make(out, source=ipv6)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b"])
def test_no_name_leads_out(name: str, tmp_path: Path) -> None:
    out = OutputDirectory.make(tmp_path / "out", source=tmp_path / "store")
    with pytest.raises(BadCall):
        out.file("consumequeue", name, "x")

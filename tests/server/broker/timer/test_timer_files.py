"""The timer's files: equal to Java's in both directions, and built again from every damage."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.broker.timer.service import TimerService
from mqserver.store.disk.disk import RealDisk
from mqserver.store.store import MessageStore
from mqserver.store.timer.timer_files import TimerFiles
from mqserver.store.timer.wheel import TimerWheel
from storefmt.formats.timer import (
    SLOT,
    SLOT_SIZE,
    Slot,
    TimerCheckpoint,
    TimerUnit,
    delivered_log_offset,
)
from storefmt.paths import StorePaths
from tests.golden import Golden
from tests.server.broker.contexts import context_of, puts_of
from tests.server.broker.timer.machine import START_MS, Machine
from tests.server.store.simdisk import refusing
from tests.server.store.stores import bodies, config_of, small_config

HOUR_MS = 3_600_000


def golden_files(golden: Golden, root: Path) -> TimerFiles:
    store = shutil.copytree(golden.store("v5"), root / "store")
    return TimerFiles(RealDisk(), StorePaths(store), small_config(store), log_end=1 << 40)


def test_files_of_java_are_whole_and_every_slot_is_read(golden: Golden, tmp_path: Path) -> None:
    files = golden_files(golden, tmp_path)
    data = (tmp_path / "store" / "timerwheel").read_bytes()

    used = [fields for fields in SLOT.iter_unpack(data) if any(fields)]
    assert files.lost == ""
    assert len(used) == 16
    assert sorted(files.wheel.slots_from(1)) == sorted(used)
    assert files.checkpoint.log_flush_pos == files.log.end == 31 * 52
    assert files.log.file_size == 26_000
    assert files.delivered_log_offset is None
    files.close()


def test_entering_the_same_messages_writes_the_bytes_of_java(
    golden: Golden, tmp_path: Path
) -> None:
    java = golden.store("v5")
    log = (java / "timerlog" / f"{0:020d}").read_bytes()
    config = small_config(tmp_path)
    config.mapped_file_size_timer_log = 26_000
    files = TimerFiles(RealDisk(), StorePaths(tmp_path), config, log_end=0)

    for pos in range(0, 31 * 52, 52):
        unit = TimerUnit.decode(log, pos)
        files.enter(
            due_ms=unit.due_ms,
            write_ms=unit.enqueue_ms,
            log_offset=unit.log_offset,
            size=unit.record_size,
            topic_hash=unit.topic_hash,
            is_roll=unit.is_roll,
            is_deletion=unit.is_deletion,
        )
    job = files.flush(TimerCheckpoint(last_read_ms=1), delivered=7, log_offset=0)
    job.do_work()
    files.end_flush(job)
    files.close()

    assert job.error is None
    assert (tmp_path / "timerlog" / f"{0:020d}").read_bytes() == log
    assert (tmp_path / "timerwheel").read_bytes() == (java / "timerwheel").read_bytes()
    check = (tmp_path / "config" / "timercheck").read_bytes()
    assert TimerCheckpoint.decode(check) == TimerCheckpoint(last_read_ms=1, log_flush_pos=31 * 52)
    assert (len(check), delivered_log_offset(check)) == (4096, 7)
    # Java writes its own fields only.
    assert delivered_log_offset(b"\0" * 8 + check[8:]) is None


def test_store_of_java_goes_on_where_it_was(golden: Golden, tmp_path: Path) -> None:
    root = shutil.copytree(golden.store("v5"), tmp_path / "store")
    config = config_of(root, golden.conf("v5"))
    known = TimerCheckpoint.decode((root / "config" / "timercheck").read_bytes())
    later_ms = known.last_read_ms + HOUR_MS
    store = MessageStore.open(config, now_ms=later_ms)
    before = bodies(store, "v5-timer", 0) + bodies(store, "v5-timer", 1)
    safe: list = []
    timer = TimerService(context_of(store, config=config), puts_of(store.put, safe.append))

    for _ in range(3_000):
        if not timer.step(later_ms) and not safe:
            break
        store.write(later_ms)
        while safe:
            safe.pop()(0)
    after = bodies(store, "v5-timer", 0) + bodies(store, "v5-timer", 1)
    timer.close()
    store.close(later_ms)

    # 600 s, the one that was deleted and the one that was recalled were due in this hour.
    assert len(after) == len(before) + 1
    assert len(set(after)) == len(after)


def lose(name: str) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    return damage


def write(name: str, pos: int, data: bytes) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        with (root / name).open("r+b") as file:
            file.seek(pos)
            file.write(data)

    return damage


def cut(name: str, size: int) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        with (root / name).open("r+b") as file:
            file.truncate(size)

    return damage


LOG = f"timerlog/{0:020d}"


DAMAGES = {
    "no wheel": lose("timerwheel"),
    "no log": lose("timerlog"),
    "no checkpoint": lose("config/timercheck"),
    "short wheel": cut("timerwheel", 1_000),
    "short checkpoint": cut("config/timercheck", 10),
    "checkpoint of zeros": write("config/timercheck", 0, bytes(4096)),
    "checkpoint ahead": write("config/timercheck", 8, (1 << 40).to_bytes(8)),
    "first units zero": write(LOG, 0, bytes(104)),
    "last unit zero": write(LOG, 9 * 52, bytes(52)),
    "empty log file": cut(LOG, 0),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_files_are_built_again_and_nothing_is_lost_or_comes_twice(
    damage: Callable[[Path], None], tmp_path: Path, small_wheel: None
) -> None:
    machine = Machine(root=tmp_path, disk=RealDisk(), timer_roll_window_slot=4)
    for number in range(10):
        machine.send(number, delay_ms=1_000 + number * 1_000)
        machine.step()
    machine.send(10, delay_ms=9_000)
    machine.run(500)
    machine.send(11, delay_ms=9_000 - 500, TIMER_DEL_UNIQKEY=f"AC110001234518B4AAC2{10:012X}")
    machine.run(3_000)
    machine.stop()

    damage(tmp_path)
    machine.now_ms += 4_000
    machine.start()
    machine.run(15_000)
    found = machine.stored()
    machine.stop()

    assert sorted(found) == [b"%d" % number for number in range(10)]


def without_sum(root: Path) -> None:
    """Make the checkpoint one that a 5.4.0 broker wrote."""
    path = root / "config" / "timercheck"
    path.write_bytes(path.read_bytes()[:56].ljust(4096, b"\0"))


@pytest.mark.parametrize("has_sum", [True, False])
@pytest.mark.parametrize("wrong_s", [-3_600, -600, -60, -5, -1, 1, 5, 60, 600, 3_600])
def test_a_checkpoint_that_is_wrong_by_up_to_an_hour_loses_and_doubles_nothing(
    wrong_s: int, has_sum: bool, tmp_path: Path
) -> None:
    machine = Machine(root=tmp_path, disk=RealDisk())
    for number in range(20):
        machine.send(number, delay_ms=1_000 + number * 1_000)
    machine.send(20, delay_ms=5_000_000)
    machine.run(8_500)
    machine.stop()
    path = tmp_path / "config" / "timercheck"
    known = TimerCheckpoint.decode(path.read_bytes())
    if not has_sum:
        without_sum(tmp_path)
    wrong_ms = known.last_read_ms + wrong_s * 1_000
    write("config/timercheck", 0, wrong_ms.to_bytes(8))(tmp_path)

    machine.now_ms += max(wrong_s, 0) * 1_000 + 4_000
    machine.start()
    machine.run(20_000)
    found = machine.stored()
    machine.stop()

    assert sorted(found, key=int) == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize("seed", range(30))
def test_wrong_bytes_in_a_chain_are_found_and_the_files_built_again(
    seed: int, tmp_path: Path, small_wheel: None
) -> None:
    machine = Machine(root=tmp_path, disk=RealDisk(), timer_roll_window_slot=4)
    for number in range(10):
        machine.send(number, delay_ms=1_000 + number * 1_000)
        machine.step()
    machine.run(3_000)
    machine.stop()
    rng = random.Random(seed)
    for name, size, fields in ((LOG, 52, range(4, 44)), ("timerwheel", 32, range(8, 24))):
        if seed % 3 != (name == LOG):
            data = bytearray((tmp_path / name).read_bytes())
            used = [at for at, byte in enumerate(data) if byte and at % size in fields]
            data[rng.choice(used)] ^= rng.randrange(1, 256)
            (tmp_path / name).write_bytes(data)

    machine.now_ms += 4_000
    machine.start()
    machine.run(20_000)
    found = machine.stored()
    machine.stop()

    assert sorted(found) == [b"%d" % number for number in range(10)]


def test_slot_with_the_tick_of_another_place_is_damage() -> None:
    wheel = TimerWheel()
    wheel.put_slot(Slot(START_MS // 1_000, 52, 104, 2))
    before = wheel.damaged_slot()

    pos = wheel._pos(START_MS // 1_000)
    wheel._memory[pos + 3] ^= 1

    assert before is None
    assert wheel.damaged_slot() == pos // SLOT_SIZE
    wheel.close()


def test_longer_than_the_window_is_stored_again_on_its_way(small_wheel: None) -> None:
    machine = Machine(timer_roll_window_slot=6)
    machine.send(1, delay_ms=5_900)
    machine.send(2, delay_ms=7_000)
    machine.send(3, delay_ms=20_000)
    machine.run(21_500)

    waited = bodies(machine.store, "rmq_sys_wheel_timer", 0)
    # 2 in two halves; 3 after 6 s, again after 6 s, and the rest in two halves of 3 s.
    assert waited.count(b"1") == 1
    assert waited.count(b"2") == 2
    assert waited.count(b"3") >= 3
    assert [body for body, _ in machine.delivered] == [b"1", b"2", b"3"]
    late = [at_ms - machine.due_ms[body] for body, at_ms in machine.delivered]
    assert 0 <= min(late) <= max(late) <= 1_050
    machine.kill()


def test_recalled_message_is_not_delivered_after_a_kill_and_a_long_stop(
    small_wheel: None,
) -> None:
    machine = Machine()
    machine.send(1, delay_ms=5_000)
    machine.send(2, delay_ms=5_000)
    machine.send(3, delay_ms=5_000, TIMER_DEL_UNIQKEY=KEY)
    # Nothing has entered the wheel when the broker is killed.
    machine.store.write(machine.now_ms)
    machine.kill()
    machine.now_ms += 60_000
    machine.start()
    machine.run(2_000)

    assert machine.stored() == [b"2"]
    machine.kill()


KEY = f"AC110001234518B4AAC2{1:012X}"


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    ("topic", "key", "is_recalled"),
    [
        ("topic-a", KEY, True),
        ("topic-a", f"topic-a+{KEY}", True),
        ("topic-b", KEY, False),
        ("topic-b", f"topic-a+{KEY}", False),
        ("topic-b", f"topic-b+{KEY}", False),
    ],
)
def test_a_recall_counts_for_the_topic_that_it_was_sent_to(
    small_wheel: None, topic: str, key: str, is_recalled: bool, is_late: bool
) -> None:
    machine = Machine()
    machine.send(1, delay_ms=5_000)
    machine.send(2, delay_ms=5_000, topic=topic, TIMER_DEL_UNIQKEY=key)
    if is_late:
        machine.store.write(machine.now_ms)
        machine.kill()
        machine.now_ms += 60_000
        machine.start()
    machine.run(10_000)

    assert machine.stored() == ([] if is_recalled else [b"1"])
    machine.kill()


def test_slave_has_no_files_and_delivers_when_it_takes_over(
    tmp_path: Path, small_wheel: None
) -> None:
    machine = Machine(root=tmp_path, disk=RealDisk())
    for number in range(6):
        machine.send(number, delay_ms=1_000 + number * 1_000)
    machine.run(3_000)
    delivered = machine.stored()

    machine.timer._context.config.broker_role = BrokerRole.SLAVE
    machine.timer.stand_down()
    there = (tmp_path / "timerwheel").exists()
    machine.run(6_000)

    assert 0 < len(delivered) < 6
    assert there is False
    assert sorted(machine.stored()) == [b"%d" % number for number in range(6)]
    machine.stop()


def test_log_of_units_rolls_over_and_old_files_go(small_wheel: None) -> None:
    machine = Machine()
    for number in range(90):
        machine.send(number, delay_ms=2_000)
        machine.step()
    files = machine.timer._files
    assert files.log.end > 4 * files.log.file_size

    machine.run(2_000)
    files.drop_before(lambda log_offset: True)
    machine.run(4_000)

    size = files.log.file_size
    assert files.log.start == files.log.end // size * size
    assert machine.disk.list(Path("/store/timerlog")) == [f"{files.log.start:020d}"]
    machine.kill()


def test_a_flush_that_the_disk_refuses_is_done_by_the_next_one(small_wheel: None) -> None:
    machine = Machine()
    for number in range(30):
        machine.send(number, delay_ms=2_000 + number * 300)
    machine.run(1_000)
    machine.disk.on_call = refusing(folder="timerlog")
    for number in range(30, 60):
        machine.send(number, delay_ms=2_000 + number * 300)
    machine.run(3_000)
    machine.disk.on_call = lambda name, path: None

    machine.run(2_000)
    machine.kill()
    machine.start()
    machine.run(20_000)

    assert sorted(machine.stored(), key=int) == [b"%d" % number for number in range(60)]
    machine.kill()


def test_wheel_stands_still_for_longer_than_a_round(small_wheel: None) -> None:
    machine = Machine()
    machine.send(1, delay_ms=5_000)
    machine.send(2, delay_ms=400_000)
    machine.run(3_000)
    machine.stop()
    machine.now_ms = START_MS + 1_000_000
    machine.start()
    machine.run(1_000)

    assert machine.stored() == [b"1", b"2"]
    machine.kill()

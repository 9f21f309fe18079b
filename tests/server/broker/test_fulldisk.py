"""A running broker on a small disk that becomes full, and then has space again."""

import asyncio
import errno
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from tests.programs import ran
from tests.server.broker.desk import Desk, bodies_in, broker_settings, with_topic
from tests.server.broker.ha.pairs import equal_ends, pair_in, state_of
from tests.waiting import TIMEOUT_S, until

DISK_SIZE = 24 << 20
BODY = b"x" * 4000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 24 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(mount)]
    try:
        found = ran(*command, code=None)
    except FileNotFoundError:
        pytest.skip("there is no mount(8)")
    if found.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {found.stderr.strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def fill(path: Path, leave: int) -> None:
    """Let a file of somebody else take all of the disk but ``leave`` bytes."""
    with path.open("wb") as file:
        while True:
            found = os.statvfs(path.parent)
            try:
                os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - leave)
            except OSError as error:
                # A broker has taken some of it meanwhile.
                if error.errno != errno.ENOSPC:
                    raise
            else:
                return


async def send_until(desk: Desk, code: int, sent: list[bytes]) -> str:
    """Send until the answer has ``code``; returns its remark."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        body = b"%d:" % len(sent) + BODY
        answer = await desk.send(body)
        if answer.code == ResponseCode.SUCCESS:
            sent.append(body)
        if answer.code == code:
            return answer.remark or ""
        if answer.code != ResponseCode.SUCCESS:
            await asyncio.sleep(0.01)
    raise AssertionError(f"no send is answered {code}")


async def failure(desk: Desk) -> str:
    """Return what a broker shows of the failure of its store."""
    answer = await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    return KVTable.decode(answer.body).table.get("storeFailure", "")


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize(
    ("ratio", "words"),
    [(90, "over diskSpaceWarningLevelRatio=90; free space"), (100, "free space on its disk")],
)
async def test_full_disk_refuses_sends_until_there_is_space(
    small_disk: Path, ratio: int, words: str, *, sync: bool
) -> None:
    """With ratio 100 nothing warns: calls of the store fail with ENOSPC."""
    config = broker_settings(small_disk / "store", sync=sync)
    config.store.disk_space_warning_level_ratio = ratio
    filler = small_disk / "filler"
    sent: list[bytes] = []

    async with with_topic(small_disk / "store", config=config) as desk:
        await send_until(desk, ResponseCode.SUCCESS, sent)
        fill(filler, 2 << 20)
        if ratio < 100:
            # Which looks at the disk from time to time.
            await until(lambda: desk.app.broker.store._policy.disk_full)
        assert words in (await send_until(desk, ResponseCode.SERVICE_NOT_AVAILABLE, sent))
        # Reads and everything else go on, and the state is shown.
        assert await desk.bodies() == sent
        await desk.heartbeat()
        assert words in await failure(desk)
        # State files, queues and index have no space for a while, either.
        await asyncio.sleep(1.5)
        assert await desk.bodies() == sent

        filler.unlink()
        await send_until(desk, ResponseCode.SUCCESS, sent)
        assert await desk.bodies() == sent
    assert len(sent) >= 2

    (small_disk / "store" / "dispatch.json").unlink(missing_ok=True)
    assert await bodies_in(small_disk / "store") == sent


async def test_slave_on_a_full_disk_acknowledges_nothing_says_so_and_goes_on_with_space(
    tmp_path: Path, small_disk: Path
) -> None:
    filler = small_disk / "filler"

    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.SYNC_MASTER, slave_timeout_ms=200)
        await master.create_topic()
        pair.root = small_disk
        slave = await pair.start("s", BrokerRole.SLAVE, slave_read_enable=True)
        await until(lambda: state_of(slave) == "RECEIVING", what="a slave")
        sent: list[bytes] = []
        await send_until(master, ResponseCode.SUCCESS, sent)
        fill(filler, 0)

        # Stored by the master, and not by the slave: 12, and 11 when it is far behind.
        codes = {(await master.send(BODY * 10)).code for _ in range(40)}
        assert codes - {0} <= {
            ResponseCode.FLUSH_SLAVE_TIMEOUT,
            ResponseCode.SLAVE_NOT_AVAILABLE,
        }
        store, ha = slave.app.broker.store, slave.app.broker.ha
        await until(lambda: "space" in ha.numbers()["haProblem"], what="it says why")
        assert store.flushed_offset < master.app.broker.store.written_offset
        assert len(await slave.bodies()) >= len(sent)

        filler.unlink()
        await equal_ends(master, slave)
        assert ha.numbers()["haProblem"] == ""
        await send_until(master, ResponseCode.SUCCESS, sent)
        await equal_ends(master, slave)
        assert await slave.bodies() == await master.bodies()

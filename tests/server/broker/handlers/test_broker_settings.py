"""The broker's settings and numbers over the wire."""

from pathlib import Path

import pytest

from mqserver.broker.config import broker_config
from mqserver.broker.files.live_settings import FILE_NAME, LiveSettings
from mqserver.runtime.program.event_loop import loop_name
from mqserver.runtime.program.kernels import kernels_in_use
from mqserver.runtime.typed_config import Value
from remoting.bodies import KVTable
from remoting.codes import RequestCode
from storefmt.names import TOOLS_GROUP
from tests.golden import Golden
from tests.server.broker.desk import Desk


async def test_settings_come_as_lines_under_javas_keys(desk: Desk) -> None:
    answer = await desk.ask(RequestCode.GET_BROKER_CONFIG)

    assert set(answer.body.decode().splitlines()) >= {
        "brokerName=broker-a",
        "brokerClusterName=TestCluster",
        "flushDiskType=ASYNC_FLUSH",
        f"mappedFileSizeCommitLog={1 << 20}",
    }
    assert answer.ext["version"].startswith('{"counter":0,"timestamp":')


async def test_runtime_numbers_have_every_key_of_the_java_broker(
    desk: Desk, golden: Golden
) -> None:
    java = golden.expected("basic")["live"]["runtime"].keys()

    await desk.send()
    await desk.pull()
    table = KVTable.decode((await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table

    assert {key for key in java if not key.startswith("commitLogDiskRatio_")} <= table.keys()
    totals = {"msgPutTotalTodayNow": "1", "msgGetTotalTodayNow": "1", "commitLogMinOffset": "0"}
    program = {"kernels": kernels_in_use(), "eventLoop": loop_name()}
    assert table.items() >= {"brokerVersionDesc": "V4_9_7", **totals, **program}.items()
    assert int(table["commitLogMaxOffset"]) > 0


async def test_reads_of_tools_do_not_count_as_consumption(desk: Desk) -> None:
    await desk.send()

    await desk.pull()
    before = KVTable.decode((await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table
    read = await desk.pull(consumer_group=TOOLS_GROUP)
    table = KVTable.decode((await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table

    assert read.code == 0
    assert (before["msgGetTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("1", "1")
    assert desk.app.broker.stats.broker_get.sum == 1


async def test_listed_settings_change_at_once(desk: Desk) -> None:
    await desk.send()
    change = b"brokerPermission=2\nautoCreateTopicEnable=false\n"

    assert (await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=change)).code == 0

    assert (await desk.pull()).code == 16
    assert (await desk.send(topic="Fresh")).code == 17


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"rocketmqHome=/x\n", "rocketmqHome cannot be changed"),
        (b"brokerPermission=2\nstorePathRootDir=/x\n", "line 2: storePathRootDir cannot be"),
        (b"brokerPermission=9\n", "brokerPermission is '9', expected an integer from 0 to 7"),
        (b"autoCreateTopicEnable=maybe\n", "expected true or false"),
        (b"\xff\xfe", "utf-8"),
    ],
)
async def test_other_changes_are_refused_whole(desk: Desk, body: bytes, text: str) -> None:
    answer = await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body)

    assert (answer.code, desk.app.broker.config.broker_permission) == (1, 6)
    assert text in (answer.remark or "")


def test_no_setting_that_is_told_is_a_secret(tmp_path: Path) -> None:
    tls = {"tls.test.mode.enable": "true", "tls.server.keyPassword": "a secret"}
    config = broker_config(Value(key, text, "a test") for key, text in tls.items())

    told = LiveSettings(config).as_dict()

    assert not any("secret" in text or key.startswith("tls") for key, text in told.items())


async def test_a_change_that_the_disk_does_not_keep_is_said_so(desk: Desk, tmp_path: Path) -> None:
    # A directory in the place of the file that becomes the new one.
    fresh = tmp_path / "config" / (FILE_NAME + ".tmp")
    fresh.mkdir()
    answer = await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"transactionCheckMax=3\n")
    fresh.rmdir()

    assert answer.code == 1
    assert (answer.remark or "").startswith(
        f"changed in memory, but {FILE_NAME} could not be written: "
    )

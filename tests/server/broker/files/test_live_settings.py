"""Settings that are changed while a broker runs: which may be, what they change, what is kept."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig, broker_config, printed
from mqserver.broker.files.live_settings import (
    AT_START_ELSEWHERE,
    CHANGEABLE,
    FILE_NAME,
    LiveSettings,
    without_meaning,
)
from mqserver.broker.state import Broker
from mqserver.broker.transaction.transaction_checks import check_rules
from mqserver.runtime.javakeys import BROKER_KEYS, broker_defaults
from mqserver.runtime.typed_config import SettingsError, Value, keys_of
from mqserver.store.queues.ext import no_bits
from mqserver.store.store_config import StoreConfig
from remoting.codes import RequestCode
from remoting.command import Command
from storefmt.errors import ConfigDamaged
from tests.server.broker.desk import Desk, broker_settings, running
from tests.waiting import until

OURS = keys_of(BrokerConfig).keys() | keys_of(StoreConfig).keys()
JAVA_CLASSES = ("BrokerConfig", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig")
DEFAULTS_OF_OURS = {
    "cleanFileForciblyEnable",
    "flushCommitLogLeastPages",
    "flushDelayOffsetInterval",
    "waitTimeMillsInSendQueue",
}
"""Keys whose default is not Java's; docs/observed.md says why."""
OF_THIS_MACHINE = {
    "brokerIP1",
    "brokerIP2",
    "brokerName",
    "haListenPort",
    "listenPort",
    "rocketmqHome",
    "storePathCommitLog",
    "storePathRootDir",
}


@pytest.fixture
def settings(tmp_path: Path) -> LiveSettings:
    return LiveSettings(broker_settings(tmp_path))


def another(text: str) -> str:
    """Return another legal value of a setting."""
    if text in ("true", "false"):
        return "false" if text == "true" else "true"
    return str(int(text) - 1 if int(text) > 1 else int(text) + 2) if text.isdecimal() else "R2"


async def change(desk: Desk, text: str) -> Command:
    return await desk.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())


async def told(desk: Desk) -> dict[str, str]:
    answer = await desk.ask(RequestCode.GET_BROKER_CONFIG)
    return dict(line.split("=", 1) for line in answer.body.decode().splitlines())


def java_defaults(fact_tables: Path) -> dict[str, str]:
    facts = json.loads((fact_tables / "config.json").read_text())["classes"]
    found: dict[str, str] = {}
    for name in JAVA_CLASSES:
        for key, field in facts[name]["fields"].items():
            if not field.get("static"):
                default = field["default"]
                is_bool = isinstance(default, bool)
                text = "" if default is None else str(default)
                found[key] = text.lower() if is_bool else text
    return found


async def test_what_is_changed_is_told_and_outlives_the_broker(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        before = await told(desk)
        wanted = {key: another(before[key]) for key in CHANGEABLE}
        answer = await change(desk, "".join(f"{key}={text}\n" for key, text in wanted.items()))

        assert (answer.code, answer.remark) == (0, None)
        assert (await told(desk)).items() >= wanted.items()

    async with running(tmp_path) as desk:
        assert (await told(desk)).items() >= wanted.items()


def test_a_changed_setting_wins_over_the_configuration_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / FILE_NAME).write_text("fileReservedTime=24\ntraceOn=true\n")
    config = broker_settings(tmp_path)
    config.store.file_reserved_time_h = 48

    with caplog.at_level(logging.INFO):
        LiveSettings(config).load()

    assert config.store.file_reserved_time_h == 24
    (line,) = [one for one in caplog.messages if FILE_NAME in one]
    assert line.startswith("fileReservedTime is '24', a change made while the broker ran, instead")


async def test_nothing_is_kept_before_something_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "config" / FILE_NAME

    async with running(tmp_path):
        pass
    assert not path.exists()

    async with running(tmp_path) as desk:
        await change(desk, "transactionCheckMax=3\n")
        assert path.exists()
    assert path.read_text() == "transactionCheckMax=3\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("fileReservedTime=soon\n", "line 1: fileReservedTime is 'soon', expected an integer"),
        ("\nlistenPort=1\n", "line 2: listenPort cannot be changed while the broker runs"),
    ],
)
def test_a_kept_setting_that_is_none_stops_the_start(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / FILE_NAME).write_text(text)

    with pytest.raises(ConfigDamaged, match="delete the line to start") as raised:
        LiveSettings(broker_settings(tmp_path)).load()

    assert fault in str(raised.value)


SEEN: dict[str, Callable[[Broker], object]] = {
    "accessMessageInMemoryMaxRatio=1": lambda b: b.store.reader._memory_size < 1 << 34,
    "autoCreateSubscriptionGroup=false": lambda b: (
        not b.groups._config.auto_create_subscription_group
    ),
    "brokerFastFailureEnable=true": lambda b: b.group_commit.overload.stale_ms == 1_000,
    "brokerFastFailureEnable=true\nwaitTimeMillsInSendQueue=7": (
        lambda b: b.group_commit.overload.stale_ms == 7
    ),
    "deleteWhen=05;06": lambda b: b.store.cleaner._config.delete_hours() == {5, 6},
    "diskMaxUsedSpaceRatio=60": lambda b: b.store.cleaner._config.disk_max_used_space_ratio == 60,
    "enableCalcFilterBitMap=true": lambda b: b.store.exts.bit_map is not no_bits,
    "fileReservedTime=1": lambda b: b.store.cleaner._config.file_reserved_time_h == 1,
    "filterDataCleanTimeSpan=9": lambda b: b.filters._config.filter_data_clean_time_span_ms == 9,
    "flushConsumeQueueThoroughInterval=8": lambda b: b.store._upkeep._thorough_interval_ms == 8,
    "flushIntervalConsumeQueue=8": lambda b: b.store._upkeep._interval_ms == 8,
    "maxMsgsNumBatch=5": lambda b: b.store._config.max_msgs_num_batch == 5,
    "osPageCacheBusyTimeOutMills=4": lambda b: b.group_commit.overload.busy_ms == 4,
    "transactionTimeOut=11": lambda b: check_rules(b.context).timeout_ms == 11,
    "warmMapedFileEnable=true": lambda b: b.store._log.warm_size == 4096 * 4096,
}


@pytest.mark.parametrize("text", SEEN)
async def test_a_change_reaches_who_goes_by_it(desk: Desk, text: str) -> None:
    if text != "accessMessageInMemoryMaxRatio=1":
        assert not SEEN[text](desk.app.broker)
    assert (await change(desk, text)).code == 0

    assert SEEN[text](desk.app.broker)


async def test_replication_goes_by_what_was_changed(desk: Desk) -> None:
    await change(
        desk,
        "haSendHeartbeatInterval=1\nhaTransferBatchSize=2\nhaHousekeepingInterval=3\n"
        "haSlaveFallbehindMax=4\nslaveTimeout=5\n",
    )
    replication = desk.app._replication
    assert replication._server is not None
    for config in (replication._server._config, replication.links._config):
        found = (
            config.ha_send_heartbeat_interval_ms,
            config.ha_transfer_batch_size,
            config.ha_housekeeping_interval_ms,
            config.ha_slave_fallbehind_max,
            config.slave_timeout_ms,
        )
        assert found == (1, 2, 3, 4, 5)


async def test_larger_and_smaller_messages_are_taken_at_once(desk: Desk) -> None:
    assert (await desk.send(b"x" * 100)).code == 0
    await change(desk, "maxMessageSize=99\n")
    assert [(await desk.send(b"x" * size)).code for size in (100, 99)] == [13, 0]
    await change(desk, "maxMessageSize=100\n")
    assert (await desk.send(b"x" * 100)).code == 0


async def test_pulls_answer_as_many_messages_as_are_allowed_now(desk: Desk) -> None:
    for _ in range(6):
        await desk.send()
    for allowed in (2, 5):
        await change(desk, f"maxTransferCountOnMessageInMemory={allowed}\n")
        assert (await desk.pull()).ext["nextBeginOffset"] == str(allowed)


async def test_sends_are_refused_before_the_time_from_which_they_are_accepted(desk: Desk) -> None:
    assert (await desk.send()).code == 0
    await change(desk, "startAcceptSendRequestTimeStamp=4102444800123\n")
    refused = await desk.send()
    await change(desk, "startAcceptSendRequestTimeStamp=0\n")
    assert (await desk.send()).code == 0

    assert refused.code == 1
    # In the time of this machine.
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:00,123"
    assert re.fullmatch(f"broker unable to service, until {time}", refused.remark or "")


async def test_region_and_trace_are_told_with_the_next_answer(desk: Desk) -> None:
    await change(desk, "regionId=north\ntraceOn=false\n")
    answer = await desk.send()

    assert (answer.ext["MSG_REGION"], answer.ext["TRACE_ON"]) == ("north", "false")


async def test_a_shorter_interval_does_not_wait_for_the_longer_one(tmp_path: Path) -> None:
    hour = 3_600_000

    async with running(tmp_path, flush_consumer_offset_interval_ms=hour) as desk:
        await desk.send()
        await desk.pull(sys_flag=5, commit_offset=1)
        await change(desk, "flushConsumerOffsetInterval=10\n")
        saved = tmp_path / "config" / "consumerOffset.json"
        await until(
            lambda: saved.exists() and '"T@G":{0:1}' in "".join(saved.read_text().split()),
            what="the position on disk",
        )


FIXED = [
    "aclEnable=true",
    "adminAddresses=*",
    "bindAddress=0.0.0.0",
    "brokerIP1=10.0.0.1",
    "brokerName=other",
    "brokerRole=SLAVE",
    "flushDiskType=SYNC_FLUSH",
    "haMasterAddress=10.0.0.1:1",
    "listenPort=1",
    "messageStorePlugIn=a.b.C",
    "namesrvAddr=10.0.0.1:9876",
    "readOnlyCommitLogStorePaths=/x",
    "rocketmqHome=/x",
    "storePathCommitLog=/x",
    "storePathRootDir=/x",
    "tls.server.keyPassword=secret",
]


@pytest.mark.parametrize("text", FIXED)
def test_paths_addresses_and_what_is_set_once_are_refused_by_name(
    settings: LiveSettings, text: str
) -> None:
    before = settings.as_dict()
    key, _, value = text.partition("=")

    with pytest.raises(SettingsError, match=f"{key} cannot be changed while the broker runs"):
        settings.change([Value("transactionCheckMax", "3", "line 1"), Value(key, value, "line 2")])

    assert settings.as_dict() == before
    assert settings.changed == {}


def test_the_value_that_is_there_may_be_said_again(settings: LiveSettings) -> None:
    before = settings.as_dict()

    settings.change(Value(key, text, "a test") for key, text in before.items())

    assert settings.as_dict() == before
    assert settings.changed.keys() == CHANGEABLE | without_meaning()


async def test_a_key_without_a_meaning_here_is_accepted_told_and_listed(desk: Desk) -> None:
    wrong = await change(desk, "sendMessageThreadPoolNums=many\n")
    taken = await change(desk, "sendMessageThreadPoolNums=9\ntransferMsgByHeap=false\n")
    after = await told(desk)

    assert (wrong.code, "expected an integer" in (wrong.remark or "")) == (1, True)
    assert (taken.code, taken.remark) == (
        0,
        "kept, but not used by this broker: sendMessageThreadPoolNums, transferMsgByHeap",
    )
    assert (after["sendMessageThreadPoolNums"], after["transferMsgByHeap"]) == ("9", "false")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("fileReservedTimes=3", "unknown key fileReservedTimes; did you mean fileReservedTime?"),
        ("maxMessageSize=99999999999", "maxMessageSize is 99999999999, expected an integer, at"),
        ("accessMessageInMemoryMaxRatio=101", "accessMessageInMemoryMaxRatio is 101, expected"),
        ("maxMessageSize=0", "maxMessageSize is 0, expected an integer, at least 1"),
        ("deleteWhen=25", "deleteWhen part '25'; expected hours"),
    ],
)
def test_keys_and_values_are_checked_as_at_the_start(
    settings: LiveSettings, text: str, fault: str
) -> None:
    key, _, value = text.partition("=")

    with pytest.raises(SettingsError) as raised:
        settings.change([Value(key, value, "line 1")])

    assert fault in str(raised.value)


def test_every_key_of_java_is_told_with_its_default(tmp_path: Path, fact_tables: Path) -> None:
    java = java_defaults(fact_tables)
    found = LiveSettings(BrokerConfig()).as_dict()
    cpu_dependent = broker_defaults(1).items() - broker_defaults(64).items()

    # The name of a field; its setter makes it enableBatchPush.
    assert java.keys() - {"isEnableBatchPush"} <= found.keys()
    same = java.keys() & found.keys() - DEFAULTS_OF_OURS - OF_THIS_MACHINE
    same -= {key for key, _ in cpu_dependent}
    assert {key: found[key] for key in same} == {key: java[key] for key in same}
    two_cpus = {key: broker_defaults(2)[key] for key, _ in cpu_dependent}
    assert two_cpus == {key: java[key] for key in two_cpus}


def test_defaults_that_are_not_javas_are_explained(fact_tables: Path) -> None:
    java = java_defaults(fact_tables)
    ours = dict(printed(BrokerConfig()))
    text = Path("docs/observed.md").read_text()

    differing = {key for key in ours.keys() & java.keys() if ours[key] != java[key]}

    assert differing - OF_THIS_MACHINE == DEFAULTS_OF_OURS
    assert all(f"`{key}`" in text for key in DEFAULTS_OF_OURS)


def test_every_key_of_java_is_changeable_or_set_once_or_without_a_meaning() -> None:
    kinds = [CHANGEABLE, OURS - CHANGEABLE, without_meaning(), AT_START_ELSEWHERE]

    assert all(sum(key in kind for kind in kinds) == 1 for key in BROKER_KEYS)
    assert CHANGEABLE <= OURS & BROKER_KEYS


def test_what_the_configuration_said_of_a_key_without_a_meaning_is_told(tmp_path: Path) -> None:
    said = {"pullMessageThreadPoolNums": "77", "storePathRootDir": str(tmp_path)}
    config = broker_config(Value(key, text, "a test") for key, text in said.items())

    found = LiveSettings(config).as_dict()

    assert found["pullMessageThreadPoolNums"] == "77"
    assert found["storePathCommitLog"] == str(tmp_path / "commitlog")

"""A broker.conf gives typed settings, or says what in it cannot be served."""

import json
import logging
from pathlib import Path

import pytest

from mqserver.broker.config import (
    AUTH_CLASSES,
    BrokerConfig,
    BrokerRole,
    broker_config,
    printed,
)
from mqserver.runtime.javakeys import BROKER_KEYS
from mqserver.runtime.typed_config import SettingsError, Value, keys_of
from mqserver.store.store_config import FlushDiskType, StoreConfig

USERS = {"authenticationEnabled": "true"}
GROUP = {"enableControllerMode": "true", "controllerAddr": "a:1;b:2"}


def config(**settings: str) -> BrokerConfig:
    return broker_config(Value(key, text, "broker.conf line 1") for key, text in settings.items())


def refused(**settings: str) -> str:
    with pytest.raises(SettingsError) as caught:
        config(**settings)
    return str(caught.value)


def test_defaults_are_those_of_a_stock_broker() -> None:
    stock = config()

    assert (stock.bind_address, stock.listen_port) == ("0.0.0.0", 10911)
    assert stock.broker_cluster_name == "DefaultCluster"
    assert stock.broker_role is BrokerRole.ASYNC_MASTER
    assert stock.store.store_path_root_dir == Path.home() / "store"
    assert stock.store.mapped_file_size_commit_log == 1 << 30


def test_one_flat_key_space_feeds_broker_and_store() -> None:
    mine = config(
        brokerName="a",
        storePathRootDir="/data/rmq",
        flushDiskType="SYNC_FLUSH",
        flushIntervalCommitLog="100",
        shortPollingTimeMills="50",
    )

    assert mine.broker_name == "a"
    assert mine.store.store_path_root_dir == Path("/data/rmq")
    assert mine.store.flush_disk_type is FlushDiskType.SYNC_FLUSH
    assert mine.store.flush_interval_commit_log_ms == 100
    assert mine.short_polling_time_ms == 50


def test_addresses_are_told_with_their_ports() -> None:
    mine = config(brokerIP1="10.0.0.1", brokerIP2="::1", namesrvAddr="a:1; b:2;")

    assert mine.broker_addr == "10.0.0.1:10911"
    assert mine.ha_server_addr == "[::1]:10912"
    assert mine.namesrv_addrs == ["a:1", "b:2"]
    assert config(namesrvAddr="a:1,b:2").namesrv_addrs == ["a:1", "b:2"]


def test_who_binds_one_interface_is_reached_there() -> None:
    assert config(bindAddress="127.0.0.1").broker_addr == "127.0.0.1:10911"
    assert config(bindAddress="127.0.0.1", brokerIP1="1.2.3.4").broker_addr == "1.2.3.4:10911"


def test_every_key_of_ours_is_a_key_of_java_but_a_few() -> None:
    ours = keys_of(BrokerConfig).keys() | keys_of(StoreConfig).keys()

    # The two ratios are system properties in 4.9 and settings in 5.x.
    ratios = {"diskSpaceCleanForciblyRatio", "diskSpaceWarningLevelRatio"}
    timer = {
        "timerWheelEnable",
        "timerPrecisionMs",
        "timerRollWindowSlot",
        "timerMaxDelaySec",
        "timerFlushIntervalMs",
        "mappedFileSizeTimerLog",
        "recallMessageEnable",
        "allowRecallWhenBrokerNotWriteable",
    }
    group = {
        "allAckInSyncStateSet",
        "asyncLearner",
        "brokerElectionPriority",
        "brokerHeartbeatInterval",
        "controllerAddr",
        "controllerHeartBeatTimeoutMills",
        "enableControllerMode",
        "haMaxTimeSlaveNotCatchup",
        "inSyncReplicas",
        "minInSyncReplicas",
        "syncBrokerMetadataPeriod",
        "syncFromLastFile",
    }
    users = {
        "authenticationEnabled",
        "authenticationWhitelist",
        "authorizationEnabled",
        "authorizationWhitelist",
        "initAuthenticationUser",
        "innerClientAuthenticationCredentials",
        "migrateAuthFromV1Enabled",
        *AUTH_CLASSES,
    }
    assert ours - BROKER_KEYS == {
        "bindAddress",
        "aclStrict",
        "adminAddresses",
        "slaveAddresses",
        "slaveResync",
        "grpcServerPort",
        "heldPullCountMax",
        "brokerAddresses",
        "slaveStartsAt",
        "strictFilters",
        "connectionsMax",
        "connectionsPerAddressMax",
        "inFlightSizeMax",
        "startWithLostCommitLog",
        *group,
        *ratios,
        *timer,
        *users,
    }


def test_no_key_is_claimed_by_broker_and_store() -> None:
    assert not keys_of(BrokerConfig).keys() & keys_of(StoreConfig).keys()


def test_a_key_only_java_uses_is_a_warning(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        config(sendMessageThreadPoolNums="16", serverWorkerThreads="8", userCacheMaxNum="1000")

    assert "sendMessageThreadPoolNums, serverWorkerThreads, userCacheMaxNum" in caplog.text


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"brokerRole": "SLAVE"}, "brokerId is 0, expected 1 or more for a slave"),
        ({"haMasterAddress": "a"}, "haMasterAddress is 'a', expected host:port"),
        ({"slaveAddresses": "10.0"}, "slaveAddresses is '10.0': Netaddress examine Exception"),
        ({"brokerId": "1"}, "brokerId is 1, expected 0 for a master"),
        ({"brokerName": "a b"}, "brokerName is 'a b'"),
        ({"brokerName": ""}, "brokerName is ''"),
        ({"brokerClusterName": "c" * 128}, "brokerClusterName is"),
        ({"namesrvAddr": "localhost"}, "namesrvAddr has 'localhost', expected host:port"),
        ({"namesrvAddr": "a:1;b:x"}, "namesrvAddr has 'b:x'"),
        ({"messageDelayLevel": "1s 5x"}, "messageDelayLevel"),
        ({"mappedFileSizeCommitLog": "0"}, "mappedFileSizeCommitLog is 0"),
        ({"aclEnable": "true", "rocketmqHome": ""}, "neither rocketmqHome nor ROCKETMQ_HOME"),
        ({"authorizationEnabled": "true"}, "any client could claim to be any user"),
        ({**USERS, "aclEnable": "true", "rocketmqHome": "/"}, "choose one kind of accounts"),
        ({**USERS, "grpcServerPort": "0", "namesrvAddr": "a:1"}, "who asks brokers for gRPC"),
        (
            {**USERS, "authenticationProvider": "my.Own"},
            "authenticationProvider is my.Own, and only",
        ),
        ({**USERS, "migrateAuthFromV1Enabled": "true", "rocketmqHome": ""}, "says where conf is"),
        ({"adminAddresses": "10.0"}, "adminAddresses is '10.0': Netaddress examine Exception"),
        ({"storePathCommitLog": "/elsewhere"}, "only '"),
        ({"storePathRootDir": ""}, "storePathRootDir is '', expected a path"),
        ({"listenport": "1"}, "did you mean listenPort?"),
        ({"brokerPermission": "9"}, "from 0 to 7"),
        ({"enableControllerMode": "true"}, "no controllerAddr says where controllers are"),
        ({**GROUP, "controllerAddr": "a"}, "controllerAddr has 'a', expected host:port"),
        ({**GROUP, "brokerHeartbeatInterval": "1500"}, "at least twice brokerHeartbeatInterval"),
        ({**GROUP, "haMasterAddress": "a:1"}, "the controller names the master"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(settings: dict[str, str], text: str) -> None:
    assert text in refused(**settings)


def test_the_default_classes_of_5_x_are_accepted() -> None:
    stateful = AUTH_CLASSES["authorizationStrategy"].replace("Stateless", "Stateful")

    mine = config(**USERS, **{**AUTH_CLASSES, "authorizationStrategy": stateful})

    assert mine.authentication_enabled


def test_passwords_are_hidden_wherever_settings_are_printed() -> None:
    mine = config(initAuthenticationUser='{"password":"secretWord"}')

    assert dict(printed(mine))["initAuthenticationUser"] == "******"
    assert dict(printed(mine))["innerClientAuthenticationCredentials"] == ""
    assert "secretWord" not in repr(mine)


def test_in_a_group_id_and_role_of_the_file_have_no_effect() -> None:
    mine = config(**GROUP, brokerId="3")

    assert mine.controller_addrs == ["a:1", "b:2"]


def test_the_stock_commit_log_path_is_fine() -> None:
    config(storePathRootDir="/data", storePathCommitLog="/data/commitlog")


def test_printed_settings_read_back_as_the_same_configuration() -> None:
    mine = config(brokerName="a", namesrvAddr="a:1", maxMessageSize="1000")

    again = broker_config(Value(key, text, "printed") for key, text in printed(mine))

    assert again == mine


def test_important_settings_are_fewer() -> None:
    important = dict(printed(config(), important_only=True))

    assert {"listenPort", "storePathRootDir", "flushDiskType"} <= important.keys()
    assert not {"serverSocketBacklog", "maxMessageSize"} & important.keys()


def test_important_settings_are_javas(fact_tables: Path) -> None:
    facts = json.loads((fact_tables / "config.json").read_text())["classes"]
    java = {
        name
        for one in ("BrokerConfig", "MessageStoreConfig")
        for name, field in facts[one]["fields"].items()
        if field.get("important")
    }
    ours = {key for key, _ in printed(config())}

    important = {key for key, _ in printed(config(), important_only=True)}

    assert important - {"brokerRole", "listenPort"} == java & ours - {"brokerRole", "listenPort"}


def test_the_configuration_of_a_golden_store_is_accepted(golden) -> None:
    assert config(**golden.conf("basic")).store.mapped_file_size_commit_log == 262_144


def test_a_store_that_needs_what_is_missing_is_not_opened_by_mistake(golden) -> None:
    assert config(**golden.conf("kinds")).store.enable_consume_queue_ext
    assert "enableDLegerCommitLog is 'true', which is not supported yet" in refused(
        enableDLegerCommitLog="true"
    )

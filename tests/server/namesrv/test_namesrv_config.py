"""A name server's file gives typed settings; other keys of Java are only warned about."""

import json
import logging
from pathlib import Path

import pytest

from mqserver.namesrv.namesrv_config import CHANGEABLE, NamesrvConfig, namesrv_config
from mqserver.runtime.javakeys import NAMESRV_KEYS
from mqserver.runtime.typed_config import SettingsError, Value, keys_of


def config(**settings: str) -> NamesrvConfig:
    return namesrv_config(Value(key, text, "namesrv.conf") for key, text in settings.items())


def test_defaults_are_those_of_a_stock_name_server() -> None:
    stock = config()

    assert stock.listen_port == 9876
    assert stock.kv_config_path == str(Path.home() / "namesrv" / "kvConfig.json")
    assert stock.order_message_enable is False


def test_settings_are_typed() -> None:
    assert config(listenPort="1", orderMessageEnable="true").order_message_enable is True
    with pytest.raises(SettingsError, match="listenPort is 'x'"):
        config(listenPort="x")


def test_keys_only_java_uses_are_a_warning(caplog) -> None:
    with caplog.at_level(logging.WARNING):
        config(productEnvName="center", serverSelectorThreads="3")

    assert "productEnvName, serverSelectorThreads" in caplog.text


def test_every_key_is_javas_but_a_few() -> None:
    lists = {"allowedAddresses", "brokerAddresses", "adminAddresses"}

    caps = {
        "connectionsMax", "connectionsPerAddressMax", "inFlightSizeMax", "registeredSizeMax",
        "registeredBrokerCountMax", "registeredTopicCountMax",
    }  # fmt: skip
    of_5 = {"enableControllerInNamesrv"}
    assert keys_of(NamesrvConfig).keys() - NAMESRV_KEYS == {"bindAddress", *lists, *caps, *of_5}


def test_no_path_can_be_changed_over_the_wire() -> None:
    assert keys_of(NamesrvConfig).keys() >= CHANGEABLE
    assert not [key for key in CHANGEABLE if "path" in key.lower() or "address" in key.lower()]


def test_every_key_of_java_is_in_all_settings(
    fact_tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKETMQ_HOME", "/opt/rocketmq")
    facts = json.loads((fact_tables / "config.json").read_text())["classes"]
    java = {**facts["NettyServerConfig"]["fields"], **facts["NamesrvConfig"]["fields"]}

    found = config(productEnvName="mine").all_settings()

    assert java.keys() <= found.keys()
    assert found["configStorePath"] == str(Path.home() / "namesrv" / "namesrv.properties")
    assert (found["productEnvName"], found["rocketmqHome"]) == ("mine", "/opt/rocketmq")
    assert found["serverWorkerThreads"] == str(java["serverWorkerThreads"]["default"])
    assert "tls" not in " ".join(found).lower()


def test_a_controller_has_its_settings_in_the_same_file() -> None:
    with_one = config(enableControllerInNamesrv="true", controllerListenPort="7", listenPort="8")
    without = config(controllerListenPort="7")

    assert with_one.controller is not None
    assert with_one.controller.controller_listen_port == 7
    assert with_one.listen_port == 8
    assert without.controller is None


def test_wrong_settings_of_the_controller_are_errors() -> None:
    with pytest.raises(SettingsError, match="controllerStore=raft"):
        config(enableControllerInNamesrv="true", controllerStore="raft")

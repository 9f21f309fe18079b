"""The settings of a controller."""

import pytest

from mqserver.controller.controller_config import CHANGEABLE, ControllerConfig, controller_config
from mqserver.runtime.javakeys import CONTROLLER_KEYS
from mqserver.runtime.typed_config import SettingsError, Value, keys_of


def config(**settings: str) -> ControllerConfig:
    return controller_config(Value(key, text, "controller.conf") for key, text in settings.items())


def test_records_are_in_a_file_unless_etcd_is_named() -> None:
    assert config().etcd_cluster() is None
    etcd = config(controllerStore="etcd://a:1,b:2/mq")
    assert etcd.etcd_cluster() == (["a:1", "b:2"], "/mq", False)
    tls = config(controllerStore="etcds://a:1")
    assert tls.etcd_cluster() == (["a:1"], "/rocketmq", True)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"enableElectUncleanMaster": "true"}, "mqadmin controller elect --unclean"),
        ({"controllerStore": "raft"}, "expected file or etcd://"),
        ({"controllerStore": "etcd://a"}, "not a host:port"),
        ({"controllerStore": "etcd://"}, "not a host:port"),
        ({"controllerAddress": "here"}, "not a host:port"),
        ({"firstElectionWaitMs": "9000"}, "firstElectionWaitMs"),
        ({"brokerAddresses": "10.0.0.0/99"}, "brokerAddresses"),
        ({"controlerStore": "file"}, "did you mean controllerStore"),
    ],
)
def test_what_cannot_be_used_is_named(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        config(**settings)


def test_the_address_for_brokers_is_that_of_this_machine_unless_it_is_given() -> None:
    assert config(bindAddress="127.0.0.5").address_for(7) == "127.0.0.5:7"
    assert config(controllerAddress="c:8").address_for(7) == "c:8"
    assert config().address_for(7).endswith(":7")


def test_keys_of_java_are_accepted_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    made = config(controllerDLegerPeers="n0-a:1", controllerDLegerSelfId="n0")

    assert "controllerDLegerPeers" in caplog.text
    assert made.all_settings()["controllerDLegerPeers"] == "n0-a:1"
    assert made.all_settings().keys() >= CONTROLLER_KEYS


def test_no_path_can_be_changed_over_the_wire() -> None:
    assert keys_of(ControllerConfig).keys() >= CHANGEABLE
    assert not [key for key in CHANGEABLE if "path" in key.lower() or "address" in key.lower()]

"""Settings of a filter server: keys, faults, and what is never printed."""

import pytest

from mqserver.filterserver.__main__ import main
from mqserver.filterserver.filterserver_config import filter_server_config
from mqserver.runtime.typed_config import SettingsError, Value


def values(**settings: str) -> list[Value]:
    return [Value(key, text, "test") for key, text in settings.items()]


def test_address_that_is_bound_is_the_one_that_consumers_are_told() -> None:
    bound = filter_server_config(values(bindAddress="127.0.0.1"))
    named = filter_server_config(values(bindAddress="127.0.0.1", filterServerIP="10.0.0.7"))

    assert (bound.filter_server_ip, named.filter_server_ip) == ("127.0.0.1", "10.0.0.7")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"connectWhichBroker": "broker"}, "expected host:port"),
        ({"connectWhichBroker": "broker:0"}, "expected host:port"),
        ({"accessKey": "key"}, "go together"),
        ({"filterFuel": "0"}, "at least 1"),
        ({"filterFule": "1"}, "did you mean filterFuel"),
    ],
)
def test_setting_that_cannot_be_used_is_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        filter_server_config(values(**settings))


def test_secret_key_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"ROCKETMQ_accessKey": "key", "ROCKETMQ_secretKey": "open sesame"}

    code = main(["-p"], environment)

    assert code == 0
    out = capsys.readouterr().out
    assert "secretKey=******" in out
    assert "open sesame" not in out

"""mqbroker reads its flags, refuses what is wrong, and starts what is right."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.startup import ready_line, run
from storefmt.errors import StoreError


class Broker:
    """A broker that ends itself as soon as it runs."""

    def __init__(self, config: BrokerConfig, error: Exception | None = None) -> None:
        self.config = config
        self.error = error

    async def start(self) -> int:
        if self.error is not None:
            raise self.error
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return 10911

    async def stop(self) -> None:
        pass


def unmade(config: BrokerConfig, restart: Callable[[], None]) -> Broker:
    raise AssertionError("nothing is to be started")


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "broker.conf"
    path.write_text("brokerName=a\nbrokerIP1=10.0.0.1\n")
    return path


def test_a_good_file_starts_a_broker_with_its_settings(conf: Path, capsys) -> None:
    made: list[BrokerConfig] = []

    def make(config: BrokerConfig, restart: Callable[[], None]) -> Broker:
        made.append(config)
        return Broker(config)

    assert run(make, ["-c", str(conf), "-n", "ns:9876"], {}) == 0

    assert (made[0].broker_name, made[0].namesrv_addrs) == ("a", ["ns:9876"])
    assert capsys.readouterr().out == (
        "The broker[a, 10.0.0.1:10911] boot success. serializeType=JSON "
        "and name server is ns:9876, listening on 0.0.0.0:10911\n"
    )


def test_a_bad_file_starts_nothing(conf: Path, capsys) -> None:
    conf.write_text("brokerRole=SLAVE\n")

    assert run(unmade, ["-c", str(conf)], {}) == 2

    assert capsys.readouterr().err.startswith("mqbroker: brokerId is 0, expected 1 or more")


def test_a_store_that_cannot_be_opened_is_one_line(conf: Path, capsys) -> None:
    error = StoreError("store is locked by another broker")

    assert run(lambda config, restart: Broker(config, error), ["-c", str(conf)], {}) == 1

    assert "mqbroker: store is locked by another broker\n" in capsys.readouterr().err


def test_print_flags_show_settings_and_start_nothing(conf: Path, capsys) -> None:
    assert run(unmade, ["-c", str(conf), "-m"], {"NAMESRV_ADDR": "x:1"}) == 0
    important = capsys.readouterr().out.splitlines()
    assert run(unmade, ["-c", str(conf), "-p"], {}) == 0
    every = capsys.readouterr().out.splitlines()

    assert {"brokerName=a", "namesrvAddr=x:1"} <= set(important)
    assert {"brokerName=a", "maxMessageSize=4194304"} <= set(every)


def test_without_name_servers_the_ready_line_names_none() -> None:
    config = BrokerConfig(broker_name="a", broker_ip1="10.0.0.1", bind_address="127.0.0.1")

    assert ready_line(config, 5) == ("The broker[a, 10.0.0.1:5] boot success. serializeType=JSON")

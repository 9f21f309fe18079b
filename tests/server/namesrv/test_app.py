"""The name server as a process of its own, asked over a real socket."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.namesrv.app import main
from remoting.aio.client import RemotingClient
from remoting.bodies import RegisterBrokerBody, TopicConfigSerializeWrapper, TopicRouteData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RequestTimedOut
from remoting.headers import GetRouteInfo
from storefmt.config.tables import DataVersion, TopicConfig
from tests import programs
from tests.server.namesrv.desk import registration, serving

REGISTER = Command.request(
    RequestCode.REGISTER_BROKER,
    registration(),
    body=RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
            topic_config_table={"T": TopicConfig("T")}, data_version=DataVersion(1, 1)
        )
    ).encode(),
)


def route_request() -> Command:
    return Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfo(topic="T"))


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "namesrv.conf"
    path.write_text(f"listenPort=0\nbindAddress=127.0.0.1\nkvConfigPath={tmp_path}/kvConfig.json\n")
    return path


@pytest.fixture
def process(conf: Path) -> Iterator[subprocess.Popen[str]]:
    with programs.serving("mqserver.namesrv.app", conf) as running:
        yield running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_mqnamesrv_serves_until_a_signal_and_exits_with_0(process, number: int) -> None:
    ready = process.stdout.readline()
    address = ready.rpartition(" ")[2].strip()

    client = RemotingClient()
    assert (await client.invoke(address, REGISTER, timeout_s=60)).code == 0
    answer = await client.invoke(address, route_request(), timeout_s=60)
    await client.close()
    route = TopicRouteData.decode(answer.body)
    process.send_signal(number)

    assert ready.startswith("The Name Server boot success. serializeType=JSON")
    assert route.broker_datas[0].broker_addrs == {0: "10.0.0.1:10911"}
    assert process.wait(timeout=60) == 0
    assert "Traceback" not in process.stderr.read()


async def test_a_broker_is_dropped_when_its_connection_closes(tmp_path: Path) -> None:
    broker, asking = RemotingClient(), RemotingClient()
    async with serving(tmp_path) as (_, address):
        await broker.invoke(address, REGISTER)
        codes = [(await asking.invoke(address, route_request())).code]
        await broker.close()
        # The closing is seen by a later turn of the loop than the question.
        while codes[-1] == 0:
            codes.append((await asking.invoke(address, route_request())).code)
        await asking.close()

    assert (codes[0], codes[-1]) == (0, 17)


async def test_an_unknown_code_is_not_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    client = RemotingClient()
    async with serving(tmp_path) as (_, address):
        # With the connection made, only the answer can be missing.
        await client.invoke(address, route_request())
        with pytest.raises(RequestTimedOut):
            await client.invoke(address, Command.request(7777), timeout_s=0.05)
        answer = await client.invoke(address, route_request())
        await client.close()
    assert answer.code == 17


def test_a_taken_port_is_one_line_and_exit_1(process, conf: Path, capsys) -> None:
    port = process.stdout.readline().rpartition(":")[2].strip()

    assert main(["-c", str(conf)], {"ROCKETMQ_listenPort": port}) == 1

    error = capsys.readouterr().err
    assert f"mqnamesrv: cannot listen on 127.0.0.1:{port}: address already in use" in error
    assert "Traceback" not in error


def test_a_damaged_kv_file_is_one_line_and_exit_1(conf: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "kvConfig.json").write_text("{")

    assert main(["-c", str(conf)], {}) == 1

    assert "kvConfig.json" in capsys.readouterr().err


def test_wrong_settings_exit_with_2(conf: Path, capsys) -> None:
    conf.write_text("listenPort=x\nlistenport=1\n")

    assert main(["-c", str(conf)], {}) == 2

    assert capsys.readouterr().err.splitlines() == [
        f"mqnamesrv: {conf} line 2: unknown key listenport; did you mean listenPort?",
        f"mqnamesrv: {conf} line 1: listenPort is 'x', expected an integer from 0 to 65535",
    ]


def test_print_flags_show_settings_and_start_nothing(conf: Path, capsys) -> None:
    assert main(["-c", str(conf), "-m"], {}) == 0
    important = capsys.readouterr().out.splitlines()
    assert main(["-c", str(conf), "-p"], {"NAMESRV_ADDR": "x:1"}) == 0
    every = capsys.readouterr().out.splitlines()

    assert "listenPort=0" in important
    assert "orderMessageEnable=false" in every
    assert set(important) < set(every)

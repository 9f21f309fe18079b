"""mqnamesrv and mqbroker as two processes, from the registration to a clean end."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.bodies import ClusterInfo, TopicRouteData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import GetRouteInfo
from tests.programs import serving
from tests.waiting import eventually

Run = Callable[..., subprocess.Popen[str]]

SMALL = (
    "mappedFileSizeCommitLog=1048576\nmaxHashSlotNum=500\nmaxIndexNum=1000\n"
    # A busy machine must not look like an overloaded broker.
    "brokerFastFailureEnable=false\nosPageCacheBusyTimeOutMills=60000\nsyncFlushTimeout=60000\n"
)


@pytest.fixture
def run() -> Iterator[Run]:
    """Return a function that runs a module with a file and flags; all end with the test."""
    with ExitStack() as running:
        yield lambda module, conf, *flags: running.enter_context(serving(module, conf, *flags))


def address_of(process: subprocess.Popen[str]) -> str:
    """Return the address at the end of the ready line."""
    line = process.stdout.readline()
    assert "boot success" in line, process.communicate()[1]
    return line.rpartition(" ")[2].strip()


def run_name_server(run: Run, directory: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a name server that keeps its files in a directory; return it and its address."""
    conf = directory / "namesrv.conf"
    conf.write_text(
        f"listenPort=0\nbindAddress=127.0.0.1\nkvConfigPath={directory}/kvConfig.json\n"
    )
    process = run("mqserver.namesrv.app", conf)
    return process, address_of(process)


def broker_conf(directory: Path, text: str = "") -> Path:
    """Return settings of a broker that keeps its store in a directory."""
    path = directory / "broker.conf"
    path.write_text(
        f"listenPort=0\nbindAddress=127.0.0.1\nstorePathRootDir={directory}/store\n{SMALL}{text}"
    )
    return path


def cluster(namesrv: str) -> ClusterInfo:
    async def ask() -> ClusterInfo:
        client = RemotingClient()
        command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        answer = await client.invoke(namesrv, command, timeout_s=60)
        await client.close()
        return ClusterInfo.decode(answer.body)

    return asyncio.run(ask())


def test_a_broker_registers_at_its_start_and_is_gone_after_its_end(run: Run, tmp_path) -> None:
    namesrv, namesrv_address = run_name_server(run, tmp_path)
    text = f"brokerName=a\nbrokerClusterName=C\nnamesrvAddr={namesrv_address}\n"

    broker = run("mqserver.broker.app", broker_conf(tmp_path, text))
    broker_address = address_of(broker)
    at_start = cluster(namesrv_address)
    broker.terminate()
    broker_code = broker.wait(timeout=60)
    at_end = cluster(namesrv_address)
    namesrv.terminate()

    assert at_start.broker_addr_table["a"].broker_addrs == {0: broker_address}
    assert at_start.cluster_addr_table == {"C": ["a"]}
    assert (broker_code, namesrv.wait(timeout=60)) == (0, 0)
    assert at_end.broker_addr_table == {}
    assert not (tmp_path / "store" / "abort").exists()


def test_a_broker_without_a_name_server_serves_anyway(run: Run, tmp_path: Path) -> None:
    conf = broker_conf(tmp_path, "namesrvAddr=127.0.0.1:1\n")

    broker = run("mqserver.broker.app", conf, "--log", "json")
    address = address_of(broker)
    broker.terminate()
    _, log = broker.communicate(timeout=60)

    assert address.startswith("127.0.0.1:")
    assert broker.returncode == 0
    events = [json.loads(line) for line in log.splitlines()]
    assert any("127.0.0.1:1" in event["message"] for event in events)


def test_a_filter_server_is_in_the_routes_of_its_broker_until_it_ends(run: Run, tmp_path) -> None:
    _, namesrv = run_name_server(run, tmp_path)
    settings = broker_conf(tmp_path, f"brokerName=a\nnamesrvAddr={namesrv}\n")
    broker = address_of(run("mqserver.broker.app", settings))
    conf = tmp_path / "filterserver.conf"
    conf.write_text(f"connectWhichBroker={broker}\nbindAddress=127.0.0.1\n")

    filters = run("mqserver.filterserver", conf)
    address = address_of(filters)
    until_route_says(namesrv, {broker: [address]})
    filters.terminate()
    until_route_says(namesrv, {})

    assert filters.wait(timeout=60) == 0


def until_route_says(namesrv: str, filter_servers: dict[str, list[str]]) -> None:
    """Return once the route of a topic that every broker has lists these filter servers."""

    async def listed(client: RemotingClient) -> dict[str, list[str]]:
        header = GetRouteInfo(topic="TBW102")
        command = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        answer = await client.invoke(namesrv, command, timeout_s=60)
        return TopicRouteData.decode(answer.body).filter_server_table

    async def ask() -> None:
        client = RemotingClient()
        await eventually(lambda: listed(client), lambda found: found == filter_servers)
        await client.close()

    asyncio.run(ask())


def test_a_locked_store_is_one_line_and_exit_1(run: Run, tmp_path: Path) -> None:
    conf = broker_conf(tmp_path)
    address_of(run("mqserver.broker.app", conf))

    second = run("mqserver.broker.app", conf)
    error = second.communicate(timeout=60)[1]

    assert second.returncode == 1
    assert "mqbroker: " in error
    assert "Traceback" not in error

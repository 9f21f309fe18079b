"""TLS between our side and the real one, both ways, on one port with plain connections."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqspark.jobs.archive import archive_local
from mqspark.jobs.restore import restore_topic
from remoting.aio.tls import ClientTls
from remoting.bodies import ClusterInfo
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RemotingError
from tests.interop.kit.our_clients import invoke
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Servers
from tests.interop.kit.toolbox import alone
from tests.waiting import eventually

SEND = {"a": "PG", "b": "Secured", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
SEND |= {"i": "", "j": "0", "k": "false", "l": "0", "m": "false"}


@dataclass(frozen=True)
class EnforcingJavaSide(JavaSide):
    """Real servers that take TLS only; they make the certificate of their test mode."""

    def java(self, main: str, *args: str, heap: str = "512m") -> list[str]:
        """Return the command line of one JVM."""
        java, *words = super().java(main, *args, heap=heap)
        return [java, "-Dtls.server.mode=enforcing", "-Dtls.enable=true", *words]


@pytest.fixture(scope="module", params=["java", "ours"])
def pair(
    request: pytest.FixtureRequest, java_side: JavaSide, our_side: OurSide, tmp_path_factory
) -> Iterator[Servers]:
    """Yield two enforcing servers, the real ones and then ours."""
    secured = EnforcingJavaSide(java_side.directory, java_side.class_path)
    side, tls = secured, {}
    if request.param == "ours":
        side, tls = our_side, {"tls.server.mode": "enforcing", "tls.enable": "true"}
    settings = {"brokerName": "secured", "brokerClusterName": "Secured", **tls}
    store = tmp_path_factory.mktemp("tls") / "store"
    with (
        Namesrv(side, settings=tls) as namesrv,
        Broker(side, store=store, namesrv=namesrv.address, settings=settings) as broker,
    ):
        yield Servers(side.name, namesrv, broker)


async def test_our_client_speaks_tls_to_both_servers(pair: Servers) -> None:
    send = Command.request(RequestCode.SEND_MESSAGE_V2, body=b"x" * 100_000)
    send.ext = dict(SEND)
    stored = await invoke(pair.broker.address, send, tls=ClientTls())
    info = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    cluster = ClusterInfo.decode((await invoke(pair.namesrv.address, info, tls=ClientTls())).body)
    # The broker found its name server over TLS, too.
    assert (stored.code, "secured" in cluster.broker_addr_table) == (0, True)


def test_our_producer_speaks_tls_to_both_servers(pair: Servers) -> None:
    async def go() -> str:
        async with MQClient(pair.namesrv.address, timeout_s=60, tls=ClientTls()) as client:
            message = Message("SecuredOurs", b"x" * 200_000)
            return (await Producer(client).send(message)).unique_key

    assert len(asyncio.run(go())) in (32, 56)


def test_archives_and_restores_speak_tls_to_both_servers(pair: Servers, tmp_path: Path) -> None:
    given = {"namesrv": pair.namesrv.address, "tls": "true", "timeoutMs": "30000"}
    uri = str(tmp_path / "archive")

    async def fill() -> None:
        async with MQClient(pair.namesrv.address, timeout_s=30.0, tls=ClientTls()) as client:
            producer = Producer(client)
            for number in range(5):
                await producer.send(Message("SecuredArchive", b"%d" % number))

            async def queued() -> int:
                stats = await Admin(client).topic_stats("SecuredArchive")
                return sum(ends.max_offset for ends in stats.values())

            await eventually(queued, lambda count: count == 5)

    asyncio.run(fill())
    found = archive_local(uri, **given, subscribe="SecuredArchive").to_pylist()
    sent = restore_topic(uri, {**given, "topic": "SecuredRestore"})

    assert sum(row["messages"] for row in found) == sum(row.messages for row in sent) == 5
    with pytest.raises(ClientError, match=pair.namesrv.address):
        archive_local(uri, namesrv=pair.namesrv.address, subscribe="SecuredArchive")


def test_plain_connections_are_closed(pair: Servers) -> None:
    for address in (pair.broker.address, pair.namesrv.address):
        with pytest.raises(RemotingError, match="ended before the answer"):
            asyncio.run(invoke(address, Command.request(28)))


@pytest.mark.parametrize("program", ["Producer", "PushConsumer"])
def test_the_java_client_speaks_tls_to_both(
    pair: Servers, java_side: JavaSide, program: str
) -> None:
    spec = {
        "namesrv": pair.namesrv.address,
        "topic": "SecuredJava",
        "group": "SecuredGroup",
        "subscription": "*",
        "mode": "sync" if program == "Producer" else "concurrent",
        "count": 2,
        "messages": [{"body": "one"}, {"body": "z" * 50_000}],
        "timeoutMs": 60_000,
    }

    lines = alone(java_side, program, spec, flags=["-Dtls.enable=true"])

    wanted = "sent" if program == "Producer" else "message"
    assert [line["event"] for line in lines].count(wanted) == 2, lines


def test_our_stock_servers_take_both(
    our_namesrv: Namesrv, our_broker: Broker, java_side: JavaSide
) -> None:
    spec = {
        "namesrv": our_namesrv.address,
        "topic": "BothWays",
        "group": "BothWays",
        "mode": "sync",
        "messages": [{"body": "one"}],
    }

    for flags in ([], ["-Dtls.enable=true"]):
        (line,) = alone(java_side, "Producer", spec, flags=flags)
        assert line["event"] == "sent"

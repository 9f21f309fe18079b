"""Codes 301 and 302 of a broker."""

from remoting.codes import RequestCode
from remoting.headers import (
    RegisterFilterServer,
    RegisterFilterServerResponse,
    RegisterMessageFilterClass,
)
from tests.server.broker.desk import Desk


async def test_filter_server_learns_the_broker_it_belongs_to(desk: Desk) -> None:
    header = RegisterFilterServer(filter_server_addr="10.0.0.1:30000")
    answer = await desk.ask(RequestCode.REGISTER_FILTER_SERVER, header)

    assert answer.header(RegisterFilterServerResponse) == RegisterFilterServerResponse(
        broker_name="broker-a", broker_id=0
    )
    assert desk.app.broker.filter_servers.addresses() == ["10.0.0.1:30000"]


async def test_broker_without_accounts_lets_everybody_upload(desk: Desk) -> None:
    header = RegisterMessageFilterClass(consumer_group="G", topic="T", class_name="C", class_crc=0)
    assert (await desk.ask(RequestCode.REGISTER_MESSAGE_FILTER_CLASS, header)).code == 0

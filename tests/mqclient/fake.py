"""A fake name server and broker in one, which answers over real sockets as a test tells it to.

async with FakeServer() as fake:
    fake.say(RequestCode.GET_MAX_OFFSET, header=GetMaxOffsetResponse(offset=7))
    async with fake.client() as client:
        ...
    assert fake.asked[0].ext == {...}
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType, TracebackType
from typing import Self

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from remoting.aio.server import RemotingServer, ServerConn
from remoting.bodies import (
    BrokerData,
    GetConsumerListByGroupResponseBody,
    QueueData,
    TopicRouteData,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.frame import RawFrame, decode_frame
from remoting.header import Header
from remoting.headers import PullMessageResponse, SendMessageResponse
from storefmt.formats.hosts import pack_host
from tests.records import record_bytes

Answer = Callable[[Command], Command | None]
NOW_MS = 1_700_000_000_000
STORED = SendMessageResponse(msg_id="7F00000100002A9F0000000000000000", queue_id=1, queue_offset=5)


class FakeServer:
    """Answers what it was told to; a request without an answer is left waiting.

    Attributes:
        asked: every request, in order.
        address: ``host:port``.
    """

    def __init__(self) -> None:
        self.asked: list[Command] = []
        self.address = ""
        self._answers: dict[int, list[Answer]] = {}
        self._server = RemotingServer(on_frame=self._on_frame, on_close=lambda conn: None)

    async def __aenter__(self) -> Self:
        port = await self._server.start("127.0.0.1", 0)
        self.address = f"127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.stop()

    def say(
        self,
        request_code: int,
        code: int = ResponseCode.SUCCESS,
        *,
        remark: str | None = None,
        header: Header | None = None,
        body: bytes = b"",
    ) -> None:
        """Answer requests of a code like this; told twice, the last answer repeats."""
        self.do(
            request_code,
            lambda request: request.response(code, remark=remark, header=header, body=body),
        )

    def do(self, request_code: int, answer: Answer) -> None:
        """Answer requests of a code by a function; None leaves the request waiting."""
        self._answers.setdefault(request_code, []).append(answer)

    def take_members(self) -> None:
        """Answer what producers and consumers tell: heartbeats, positions, and that they leave."""
        for code in (
            RequestCode.HEART_BEAT,
            RequestCode.UNREGISTER_CLIENT,
            RequestCode.UPDATE_CONSUMER_OFFSET,
        ):
            self.say(code)

    def list_members(self, *client_ids: str) -> None:
        """Answer who is in a group."""
        body = GetConsumerListByGroupResponseBody(consumer_id_list=list(client_ids))
        self.say(RequestCode.GET_CONSUMER_LIST_BY_GROUP, body=body.encode())

    def drop(self, request_code: int) -> None:
        """Close the connection when such a request comes."""
        self.do(request_code, _hang_up)

    def route(
        self,
        *topics: str,
        queues: int = 2,
        brokers: int = 1,
        perm: int = 6,
        slaves: Mapping[int, str] = MappingProxyType({}),
        has_master: bool = True,
    ) -> None:
        """Answer route requests: ``brokers`` brokers, all of them this server, and their slaves."""
        masters = {0: self.address} if has_master else {}
        names = [f"broker-{number}" for number in range(brokers)]
        found = TopicRouteData(
            queue_datas=[
                QueueData(
                    broker_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm
                )
                for name in names
            ],
            broker_datas=[
                BrokerData(cluster="C", broker_name=name, broker_addrs={**masters, **slaves})
                for name in names
            ],
        )

        def answer(request: Command) -> Command:
            if request.ext["topic"] not in topics:
                return request.response(ResponseCode.TOPIC_NOT_EXIST, remark="No topic route info")
            return request.response(body=found.encode_strict())

        self._answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [answer]

    def client(self, **more: object) -> MQClient:
        """Return a client of this server, with a clock that stands still."""
        settings: dict[str, object] = {"timeout_s": 60.0, "clock_ms": lambda: NOW_MS, **more}
        return MQClient(self.address, **settings)  # type: ignore[arg-type]

    def asked_for(self, request_code: int) -> list[Command]:
        """Return the requests of one code, in order."""
        return [command for command in self.asked if command.code == request_code]

    def _on_frame(self, conn: ServerConn, raw: RawFrame) -> None:
        request = decode_frame(raw)
        self.asked.append(request)
        answers = self._answers.get(request.code)
        if not answers:
            return
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is _hang_up:
            conn.close()
            return
        reply = answer(request)
        if reply is not None and not request.is_oneway:
            conn.send_command(reply)


@asynccontextmanager
async def asking(*, brokers: int = 1) -> AsyncIterator[tuple[FakeServer, Admin]]:
    """Yield a server that has topic T, and who administers it."""
    async with serving(brokers=brokers) as (fake, client):
        yield fake, Admin(client)


@asynccontextmanager
async def serving(
    *, brokers: int = 1, **more: object
) -> AsyncIterator[tuple[FakeServer, MQClient]]:
    """Yield a server that has topic T, and its client; ``more`` is for ``FakeServer.client``."""
    async with FakeServer() as fake:
        fake.route("T", brokers=brokers)
        async with fake.client(**more) as client:
            yield fake, client


def pulled(
    next_offset: int, *, min_offset: int = 0, max_offset: int = 50, suggested: int = 0
) -> PullMessageResponse:
    """Return the header of an answer to a pull."""
    return PullMessageResponse(
        suggest_which_broker_id=suggested,
        next_begin_offset=next_offset,
        min_offset=min_offset,
        max_offset=max_offset,
    )


def _hang_up(request: Command) -> None:
    return None


def record(
    topic: str,
    body: bytes,
    *,
    queue_offset: int = 0,
    log_offset: int = 0,
    sys_flag: int = 0,
    properties: str = "",
    store_ms: int = NOW_MS,
) -> bytes:
    """Return one stored record as a broker would send it."""
    return record_bytes(
        topic=topic.encode(),
        queue_offset=queue_offset,
        log_offset=log_offset,
        sys_flag=sys_flag,
        born_ms=NOW_MS,
        born_host=pack_host("127.0.0.1", 4242),
        store_ms=store_ms,
        store_host=pack_host("127.0.0.1", 10911),
        body=body,
        properties=properties.encode(),
    )

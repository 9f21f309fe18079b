"""The base of all families of admin calls: it sends a request to a broker or a name server.

A method of ``Admin`` sends one request, or one for each broker of a topic where Java's tool also
does that. Families name header and body classes by their package (``headers.QueryMessage``),
which loads each class on first use, because loading all would take longer than most commands.

A broker before 4.9 does not answer a request code that it does not know. When a code that is
newer than 4.3 gets no answer, the version of the broker decides whether it is late or too old.

Rule: a call changes only what its name says, and a write is never tried again.

Source: common/protocol/RequestCode.java of 4.3.2, 4.5.2, 4.7.1 and 4.9.7.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from mqclient.client import responses
from mqclient.client.instance import MQClient
from mqclient.client.lifetime import Lifetime
from mqclient.errors import BrokerRefused, ClientError, TimedOut
from remoting import bodies
from remoting.codes import ExtensionCode, LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.header import Header

_B = TypeVar("_B", bound=responses.Decodable)
_Version = tuple[int, ...]
_BEFORE: Final[Mapping[int, _Version]] = {
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: (4, 4),
    RequestCode.DELETE_ACL_CONFIG: (4, 4),
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO: (4, 4),
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: (4, 4),
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: (4, 6),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: (4, 4),
    RequestCode.GET_ALL_PRODUCER_INFO: (4, 8),
    RequestCode.DELETE_EXPIRED_COMMITLOG: (4, 8),
    # No Java broker of 4.x knows these codes, but brokers from this version on say so in an answer.
    ExtensionCode.GET_LOCK_TABLE: (4, 9, 7),
    ExtensionCode.GET_OPEN_TRANSACTIONS: (4, 9, 7),
    ExtensionCode.PROMOTE_SLAVE: (4, 9, 7),
    ExtensionCode.DEMOTE_MASTER: (4, 9, 7),
    LaterCode.GET_ALL_MESSAGE_REQUEST_MODE: (4, 9, 7),
    LaterCode.SET_MESSAGE_REQUEST_MODE: (4, 9, 7),
    LaterCode.GET_TIMER_METRICS: (4, 9, 7),
    LaterCode.RECALL_MESSAGE: (4, 9, 7),
}
"""Brokers before this version do not know the request code, and do not answer it."""


class AdminCalls(Lifetime):
    """Base of the families of admin calls.

    Args:
        client: the connections.
    """

    def __init__(self, client: MQClient) -> None:
        super().__init__(client, "admin")

    @property
    def has_namesrv(self) -> bool:
        """Return whether the client has a name server; else brokers are all that can be asked."""
        return bool(self._client.namesrv_addresses)

    async def _broker(
        self,
        address: str,
        code: int,
        header: Header | None = None,
        *,
        what: str,
        body: bytes = b"",
        timeout_s: float | None = None,
    ) -> Command:
        try:
            return await self._client.call(
                address, code, header, what=what, body=body, timeout_s=timeout_s
            )
        except TimedOut as error:
            first = _BEFORE.get(code)
            if first is None or not await self._is_before(address, first):
                raise
            raise BrokerRefused(
                f"{what}: {address} is older than {'.'.join(map(str, first))} and does not know "
                f"request code {int(code)}, which it left unanswered",
                code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
                address=address,
                hint="this server's version has no such request",
            ) from error

    async def _body(
        self,
        address: str,
        code: int,
        body_class: type[_B],
        header: Header | None = None,
        *,
        what: str,
        timeout_s: float | None = None,
    ) -> _B:
        """Return the typed body of an answer; raises BadAnswer and the errors of ``_broker``."""
        answer = await self._broker(address, code, header, what=what, timeout_s=timeout_s)
        return responses.body(answer, body_class, address=address)

    async def _is_before(self, address: str, first: _Version) -> bool:
        try:
            answer = await self._client.call(
                address, RequestCode.GET_BROKER_RUNTIME_INFO, what="version of the broker"
            )
            table = responses.body(answer, bodies.KVTable, address=address).table
        except ClientError:
            # Every broker knows this request, so a broker that does not answer it is late.
            return False
        version = re.match(r"V(\d+)_(\d+)_(\d+)", table.get("brokerVersionDesc", ""))
        return version is not None and tuple(map(int, version.groups())) < first

    async def _namesrv(
        self,
        code: int,
        header: Header | None = None,
        *,
        what: str,
        address: str | None = None,
    ) -> tuple[str, Command]:
        """Ask one name server, or the first one that answers when no address is given."""
        if address is not None:
            return address, await self._broker(address, code, header, what=what)
        address, answer = await self._client.ask_namesrv(code, header, what=what)
        return address, responses.check(answer, address=address, what=what)

    async def _namesrv_body(
        self,
        code: int,
        body_class: type[_B],
        header: Header | None = None,
        *,
        what: str,
        address: str | None = None,
    ) -> _B:
        """Return the typed body of the answer to ``_namesrv``; also raises BadAnswer."""
        address, answer = await self._namesrv(code, header, what=what, address=address)
        return responses.body(answer, body_class, address=address)

    async def _each_namesrv(
        self, code: int, header: Header, *, what: str, address: str | None = None
    ) -> list[Command]:
        """Ask only the name server at ``address``, or all of them, which share no changes."""
        addresses = self._client.name_servers() if address is None else [address]
        return [await self._client.call(namesrv, code, header, what=what) for namesrv in addresses]

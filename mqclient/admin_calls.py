"""What the families of admin calls share: one request to a broker or to the name servers.

Rule: a method of ``Admin`` is one request, or one per broker of a topic where Java's tool
does that too. It changes nothing beside what its name says and never retries a write.
Families name header and body classes by their package (``headers.QueryMessage``), which loads
each class on first use: all of them together would take longer than most commands.
"""

from mqclient import answers
from mqclient.instance import MQClient
from remoting.command import Command
from remoting.header import Header


class AdminCalls:
    """Base of the families.

    Args:
        client: the connections.
    """

    def __init__(self, client: MQClient) -> None:
        self._client = client

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
        return await self._client.call(
            address, code, header, what=what, body=body, timeout_s=timeout_s
        )

    async def _namesrv(
        self,
        code: int,
        header: Header | None = None,
        *,
        what: str,
        body: bytes = b"",
        address: str | None = None,
    ) -> tuple[str, Command]:
        """Ask one name server, the first that answers where none is named."""
        if address is not None:
            return address, await self._broker(address, code, header, what=what, body=body)
        address, answer = await self._client.ask_namesrv(code, header, what=what, body=body)
        return address, answers.check(answer, address=address, what=what)

    async def _each_namesrv(
        self, code: int, header: Header, *, what: str, address: str | None = None
    ) -> list[Command]:
        """Ask every name server, because none of them tells the others; or only one."""
        addresses = list(self._client.namesrv_addresses) if address is None else [address]
        return [await self._client.call(one, code, header, what=what) for one in addresses]

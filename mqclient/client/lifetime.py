"""How long something works on a client: until its shutdown, which ends a ``with`` block, too.

    producer, consumer, admin --> _client --> answers
    after shutdown                _client --> refused, with what to do

Rule: what was shut down asks nobody anything, and does not start again: a new one is made, as
with the Java client, whose service state says SHUTDOWN_ALREADY.

Source: client/impl/producer/DefaultMQProducerImpl.java#makeSureStateOK (4.9.7).
"""

from typing import TYPE_CHECKING, Self

from mqclient.errors import BadRequest

if TYPE_CHECKING:
    from mqclient.client.instance import MQClient


class Lifetime:
    """Base of all that works on a client.

    Args:
        client: the connections, which others use, too.
        what: "producer of group G", for the error.
    """

    def __init__(self, client: "MQClient", what: str) -> None:
        self._connections = client
        self._what = what
        self._is_over = False

    @property
    def _client(self) -> "MQClient":
        """The client for what begins now; what has begun may end on ``_connections``."""
        if self._is_over:
            raise self._over()
        return self._connections

    def _check_alive(self) -> None:
        """Refuse what needs no client of its own; raises BadRequest."""
        if self._is_over:
            raise self._over()

    def _over(self) -> BadRequest:
        return BadRequest(f"{self._what} was shut down", hint="make a new one")

    async def shutdown(self) -> None:
        """Refuse everything from now on; the client stays open."""
        self._is_over = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

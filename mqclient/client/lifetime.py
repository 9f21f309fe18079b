"""The lifetime of a producer, a consumer or an ``Admin``: from its creation to its shutdown.

The end of a ``with`` block also shuts it down. Afterwards every call raises ``BadRequest``.

Rule: an object that was shut down sends nothing and does not start again, as in Java, whose
service state then is SHUTDOWN_ALREADY. The application makes a new one.

Source: client/impl/producer/DefaultMQProducerImpl.java#makeSureStateOK (4.9.7).
"""

from typing import TYPE_CHECKING, Self

from mqclient.errors import BadRequest

if TYPE_CHECKING:
    from mqclient.client.instance import MQClient


class Lifetime:
    """Base of producers, consumers and ``Admin``.

    Args:
        client: the connections, which other objects share.
        what: "producer of group G", for the error text.
    """

    def __init__(self, client: "MQClient", what: str) -> None:
        self._connections = client
        self._what = what
        self._is_over = False

    @property
    def _client(self) -> "MQClient":
        """The client for new work; work that began before may end on ``_connections``."""
        self._check_alive()
        return self._connections

    def _check_alive(self) -> None:
        """Raise BadRequest after the shutdown; for methods that do not use ``_client``."""
        if self._is_over:
            raise BadRequest(f"{self._what} was shut down", hint="make a new one")

    async def shutdown(self) -> None:
        """Refuse every call from now on; the client stays open."""
        self._is_over = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

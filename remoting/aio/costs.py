"""What a peer can make a server hold or do, and what each of it costs: one list for all ports.

    bytes         ``Budget.charge(holder, size)``: payload plus the price of its objects, below
    descriptors   ``Places.reserve()``: one for each connection, also for those to brokers that the
                  gRPC endpoint opens for a client
    time          ``Turns``: the work of all connections in one turn of the event loop
    expensive     ``FairLane``: what runs in threads or asks other servers, a few at a time
    counts        connections (``Admission``), streams, sessions, commands that wait, timers

Rule: a cost is charged before the work is done. Where only the work shows how much it is, the most
that it may be is charged first and corrected afterwards. An object costs what it takes in memory,
not what its bytes took on the wire: an empty message is not free.

Source: ours; the sizes are estimates.
"""

from typing import Final, NamedTuple


class Price(NamedTuple):
    """The price of one object that a peer can make us hold.

    Attributes:
        what: the object.
        size: bytes, beside the bytes of its content.
    """

    what: str
    size: int


FRAME: Final = Price("a remoting request that waits in its connection", 400)
STREAM: Final = Price("an open gRPC call, with its task and its timer", 8_192)
FIELD: Final = Price("a header field of an open call", 256)
ITEM: Final = Price("a decoded field, list item or table entry of a request", 256)
SESSION: Final = Price("a gRPC client with settings", 16_384)
WATCH: Final = Price("a message that is hidden longer while its client works on it", 2_048)
COMMAND: Final = Price("a command that waits for the Telemetry stream of a client", 1_024)
DELIVERY: Final = Price("a received message that waits until its client reads", 4_096)

PRICES: Final = (FRAME, STREAM, FIELD, ITEM, SESSION, WATCH, COMMAND, DELIVERY)

"""Read from many brokers, some of which may not answer or refuse.

    asked      broker-a  broker-b (hangs)  broker-c (refuses)  broker-d
    answers    rows      a warning         a warning           rows      exit code 5

Rule: for reads only, and the same for every command. The answers of the others are shown; a broker
that does not answer or refuses is named, and not asked again in the same command, because that
would take another timeout. If no broker answers, the first error ends the command.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mqadmin.output.rows import PARTLY
from mqclient.errors import BadAnswer, BrokerRefused, ClientError, TimedOut, Unreachable

if TYPE_CHECKING:
    from mqadmin.cluster.brokers import ServerNode

R = TypeVar("R")
PASSED_OVER: Final = (BrokerRefused, TimedOut, Unreachable, BadAnswer)
"""A broker that fails like this is skipped; that something does not exist is an answer."""


class Warns(Protocol):
    """Receives the warnings: a call, or a list."""

    def warn(self, text: str) -> None:
        """Take one line."""


class Unsaid:
    """Collects warnings that become rows or findings instead of lines on standard error."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def warn(self, text: str) -> None:
        """Keep one line."""
        self.texts.append(text)


class Answers:
    """Which brokers answered in one command, and which did not."""

    def __init__(self, call: Warns) -> None:
        self._call = call
        self._failed: dict[str, ClientError] = {}
        self._answered = False

    @property
    def failed(self) -> "Mapping[str, ClientError]":
        """Return why each address was skipped."""
        return self._failed

    async def each(
        self, nodes: "Sequence[ServerNode]", ask: "Callable[[ServerNode], Awaitable[R]]"
    ) -> "list[tuple[ServerNode, R]]":
        """Ask every server at once and return those that answered, in order, with their answers.

        Raises:
            ClientError: no server has answered, now or before.
        """
        # A command that sends one request at a time has no event loop and need not import it.
        import asyncio

        asked = [node for node in nodes if node.address not in self._failed]

        async def one(node: "ServerNode") -> R | ClientError:
            try:
                return await ask(node)
            except PASSED_OVER as error:
                return error

        answers = await asyncio.gather(*(one(node) for node in asked))
        results: list[tuple[ServerNode, R]] = []
        failures: list[tuple[ServerNode, ClientError]] = []
        for node, answer in zip(asked, answers, strict=True):
            if isinstance(answer, ClientError):
                failures.append((node, answer))
            else:
                results.append((node, answer))
        self._answered = self._answered or bool(results)
        if failures and not self._answered:
            raise failures[0][1]
        for node, error in failures:
            self.miss(error, address=node.address, broker=node.broker)
        return results

    def miss(self, error: ClientError, *, address: str = "", broker: str = "") -> None:
        """Note that an address does not answer or refuses, and warn once.

        Args:
            broker: its name; "" if only the address is known.
        """
        where = address or error.address
        if where not in self._failed:
            self._failed[where] = error
            name = f"{broker} ({where})" if broker else where
            self._call.warn(f"data of {name} is missing: {error}")

    def exit_code(self) -> int:
        """Return 5 if something is missing."""
        return PARTLY if self._failed else 0


async def ask_each(
    nodes: "Sequence[ServerNode]",
    ask: "Callable[[ServerNode], Awaitable[R]]",
    *,
    answers: Answers | None,
) -> "list[tuple[ServerNode, R]]":
    """Ask every server at once, as ``Answers.each`` does; without ``answers`` all must answer."""
    # As above, not every command has an event loop.
    import asyncio

    if answers is not None:
        return await answers.each(nodes, ask)
    results = await asyncio.gather(*(ask(node) for node in nodes))
    return list(zip(nodes, results, strict=True))

"""Read from many brokers, of which one may not answer.

    asked      broker-a  broker-b (hangs)  broker-c
    answers    rows      a warning         rows        exit code 5

Rule: for reads only. What the others said is shown, and the silent one is named and not asked
again in the same command, because every question to it takes the whole timeout. Where nobody
answers at all, the error of the first one ends the command.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from mqadmin.output.rows import PARTLY
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqadmin.cluster.brokers import ServerNode
    from mqadmin.session.call import Call

R = TypeVar("R")
SILENT = 4
"""Exit code of the errors that say: no answer."""


class Answers:
    """Who answered in one command, and who did not."""

    def __init__(self, call: "Call") -> None:
        self._call = call
        self._silent: set[str] = set()
        self._answered = False

    async def each(
        self, nodes: "Sequence[ServerNode]", ask: "Callable[[ServerNode], Awaitable[R]]"
    ) -> "list[tuple[ServerNode, R]]":
        """Ask every server at once and return those that answered, in order, with their answers.

        Raises:
            ClientError: nobody has answered, now or before.
        """
        # A command that asks one thing at a time has no event loop and need not import it.
        import asyncio

        asked = [node for node in nodes if node.address not in self._silent]

        async def one(node: "ServerNode") -> R | ClientError:
            try:
                return await ask(node)
            except ClientError as error:
                if error.exit_code != SILENT:
                    raise
                return error

        answers = await asyncio.gather(*(one(node) for node in asked))
        found: list[tuple[ServerNode, R]] = []
        failures: list[tuple[str, ClientError]] = []
        for node, answer in zip(asked, answers, strict=True):
            if isinstance(answer, ClientError):
                failures.append((node.address, answer))
            else:
                found.append((node, answer))
        self._answered = self._answered or bool(found)
        if failures and not self._answered:
            raise failures[0][1]
        for address, error in failures:
            self.miss(error, address=address)
        return found

    def miss(self, error: ClientError, *, address: str = "") -> None:
        """Note that an address does not answer, and say so once."""
        where = address or error.address
        if where not in self._silent:
            self._silent.add(where)
            self._call.warn(f"what {where} has is missing: {error}")

    def exit_code(self) -> int:
        """Return 5 where something is missing."""
        return PARTLY if self._silent else 0


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
    told = await asyncio.gather(*(ask(node) for node in nodes))
    return list(zip(nodes, told, strict=True))

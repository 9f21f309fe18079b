"""Reads of many brokers, of which one may not answer.

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
    from mqadmin.cluster.brokers import Place
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
        self, places: "Sequence[Place]", ask: "Callable[[Place], Awaitable[R]]"
    ) -> "list[tuple[Place, R]]":
        """Ask every place at once and return those that answered, in order, with their answers.

        Raises:
            ClientError: nobody has answered, now or before.
        """
        # A command that asks one thing at a time has no event loop, and needs none of it.
        import asyncio

        asked = [place for place in places if place.address not in self._silent]

        async def one(place: "Place") -> R | ClientError:
            try:
                return await ask(place)
            except ClientError as error:
                if error.exit_code != SILENT:
                    raise
                return error

        answers = await asyncio.gather(*(one(place) for place in asked))
        found: list[tuple[Place, R]] = []
        failures: list[tuple[str, ClientError]] = []
        for place, answer in zip(asked, answers, strict=True):
            if isinstance(answer, ClientError):
                failures.append((place.address, answer))
            else:
                found.append((place, answer))
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
    places: "Sequence[Place]",
    ask: "Callable[[Place], Awaitable[R]]",
    *,
    answers: Answers | None,
) -> "list[tuple[Place, R]]":
    """Ask every place at once, as ``Answers.each`` does; without ``answers`` all must answer."""
    # As above: not every command has an event loop.
    import asyncio

    if answers is not None:
        return await answers.each(places, ask)
    told = await asyncio.gather(*(ask(place) for place in places))
    return list(zip(places, told, strict=True))

"""The base of everything that a command may change."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from mqadmin.journal import Saved
from mqadmin.places import Place
from storefmt.fastjson import Json

if TYPE_CHECKING:
    from mqclient.admin import Admin

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Thing(ABC, Generic[T]):
    """One thing on one server.

    Attributes:
        names: what names it there, outermost first.
    """

    kind: ClassVar[str]
    is_kept: ClassVar[bool] = True
    """Whether the journal has it: what a server makes again by itself is not kept."""

    admin: "Admin"
    place: Place
    names: tuple[str, ...]

    @abstractmethod
    async def read(self) -> T | None:
        """Return what the server has, None where it has none."""

    @abstractmethod
    async def write(self, value: T | None) -> None:
        """Have the server take a value; None removes the thing.

        Raises:
            Refused: this kind of server cannot do that.
        """

    @abstractmethod
    def encode(self, value: T) -> Json:
        """Return a value as json."""

    @abstractmethod
    def decode(self, value: Json) -> T:
        """Return the value that ``encode`` made json of."""

    def same(self, one: T | None, other: T | None) -> bool:
        """Return whether two values mean the same to the server."""
        return one == other

    def saved(self, value: T | None) -> Saved:
        """Return a value as the journal keeps it."""
        return Saved(
            kind=self.kind,
            cluster=self.place.cluster,
            broker=self.place.broker,
            broker_id=self.place.broker_id,
            address=self.place.address,
            names=self.names,
            before=None if value is None else self.encode(value),
        )

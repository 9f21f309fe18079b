"""The base classes of everything that a command may change.

    ChangeTarget    read, write                  a topic, an offset, a setting of one server
    ListedTarget    listing --> find, find, …    its server lists it with others of its kind

Rule: targets with the same ``listing_key`` are read by one request, however many they are.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, cast

from mqadmin.cluster.brokers import ServerNode
from mqadmin.session.journal import SavedState
from storefmt.config.fastjson import Json

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

T = TypeVar("T")
L = TypeVar("L")
MANY: Final = 64
"""The width of targets that a server saves in one file: those written together share a write."""


@dataclass(frozen=True, slots=True)
class ChangeTarget(ABC, Generic[T]):
    """Something on one server that one write changes.

    Attributes:
        names: its names there, outermost first.
    """

    kind: ClassVar[str]
    is_kept: ClassVar[bool] = True
    """Whether the journal keeps it; things that a server recreates by itself are not kept."""
    width: ClassVar[int] = 1
    """How many targets with different names are written at once; those with one name never are."""

    admin: "Admin"
    node: ServerNode
    names: tuple[str, ...]

    @abstractmethod
    async def read(self) -> T | None:
        """Return the value on the server, None if it has none."""

    @abstractmethod
    async def write(self, value: T | None) -> None:
        """Set the value on the server; None removes the target.

        Raises:
            ServerRefused: this kind of server cannot do that.
        """

    def encode(self, value: T) -> Json:
        """Return a value as json; a value that json supports is left as it is."""
        return cast(Json, value)

    def decode(self, value: Json) -> T:
        """Return the value that ``encode`` made json of."""
        return cast(T, value)

    def same(self, left: T | None, right: T | None) -> bool:
        """Return whether two values mean the same to the server."""
        return left == right

    def saved(self, value: T | None) -> SavedState:
        """Return a value as the journal keeps it."""
        return SavedState(
            kind=self.kind,
            cluster=self.node.cluster,
            broker=self.node.broker,
            broker_id=self.node.broker_id,
            address=self.node.address,
            names=self.names,
            before=None if value is None else self.encode(value),
        )


@dataclass(frozen=True, slots=True)
class ListedTarget(ChangeTarget[T], Generic[T, L]):
    """A target that is read from a listing of the server."""

    @property
    def listing_key(self) -> Hashable:
        """Return the key of the listing."""
        return type(self), self.node.address

    @abstractmethod
    async def listing(self) -> L:
        """Return all targets of this kind on the server."""

    def find(self, listing: L) -> T | None:
        """Return the value of this target in a listing, None if it is missing."""
        return cast("Mapping[str, T]", listing).get(self.names[0])

    async def read(self) -> T | None:
        """Return the value on the server, None if it has none."""
        return self.find(await self.listing())

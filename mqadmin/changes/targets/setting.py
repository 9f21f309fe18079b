"""Settings of a running broker, name server or controller, and entries of a name server's KV table.

Rule: the value is the text that the server returns. A setting cannot be removed; a KV entry can.
"""

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mqadmin.changes.targets.base import MANY, ChangeTarget, ListedTarget
from mqadmin.errors import ServerRefused


@dataclass(frozen=True, slots=True)
class SettingTarget(ChangeTarget[str]):
    """A setting of a running server; ``names`` has its key."""

    server: ClassVar[str]
    """The name of the server in errors."""

    @abstractmethod
    async def settings(self) -> Mapping[str, str]:
        """Return all settings of the server."""

    @abstractmethod
    async def update(self, settings: Mapping[str, str]) -> None:
        """Change some settings of the server."""

    async def read(self) -> str | None:
        """Return its text."""
        return (await self.settings()).get(self.names[0])

    async def write(self, value: str | None) -> None:
        """Set it."""
        if value is None:
            raise ServerRefused(f"{self.server} cannot delete a setting")
        await self.update({self.names[0]: value})


@dataclass(frozen=True, slots=True)
class BrokerSettingTarget(SettingTarget):
    """A setting of a broker."""

    kind: ClassVar[str] = "broker setting"
    server: ClassVar[str] = "a broker"

    async def settings(self) -> Mapping[str, str]:
        """Return all settings of the broker."""
        return await self.admin.broker_config(self.node.address)

    async def update(self, settings: Mapping[str, str]) -> None:
        """Change some settings of the broker."""
        await self.admin.update_broker_config(self.node.address, settings)


@dataclass(frozen=True, slots=True)
class NamesrvSettingTarget(SettingTarget):
    """A setting of a name server."""

    kind: ClassVar[str] = "namesrv setting"
    server: ClassVar[str] = "a name server"

    async def settings(self) -> Mapping[str, str]:
        """Return all settings of the name server."""
        return await self.admin.namesrv_config(self.node.address)

    async def update(self, settings: Mapping[str, str]) -> None:
        """Change some settings of the name server."""
        await self.admin.update_namesrv_config(self.node.address, settings)


@dataclass(frozen=True, slots=True)
class ControllerSettingTarget(SettingTarget):
    """A setting of a controller."""

    kind: ClassVar[str] = "controller setting"
    server: ClassVar[str] = "a controller"

    async def settings(self) -> Mapping[str, str]:
        """Return all settings of the controller."""
        return await self.admin.controller_config(self.node.address)

    async def update(self, settings: Mapping[str, str]) -> None:
        """Change some settings of the controller."""
        await self.admin.update_controller_config(self.node.address, settings)


@dataclass(frozen=True, slots=True)
class KvEntry(ListedTarget[str, Mapping[str, str]]):
    """An entry of the KV table; ``names`` has namespace and key."""

    kind: ClassVar[str] = "kv"
    width: ClassVar[int] = MANY

    @property
    def listing_key(self) -> Hashable:
        """Return the key of the namespace."""
        return type(self), self.node.address, self.names[0]

    async def listing(self) -> Mapping[str, str]:
        """Return the entries of the namespace."""
        return await self.admin.kv_list(self.names[0], address=self.node.address)

    def find(self, listing: Mapping[str, str]) -> str | None:
        """Return its text."""
        return listing.get(self.names[1])

    async def read(self) -> str | None:
        """Return its text, without the rest of the namespace."""
        namespace, key = self.names
        return await self.admin.kv_get(namespace, key, address=self.node.address)

    async def write(self, value: str | None) -> None:
        """Set or delete it."""
        namespace, key = self.names
        if value is None:
            await self.admin.kv_delete(namespace, key, address=self.node.address)
        else:
            await self.admin.kv_put(namespace, key, value, address=self.node.address)

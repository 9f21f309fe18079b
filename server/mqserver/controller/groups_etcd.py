"""The records of groups in etcd, for any number of controllers.

    <prefix>/groups/<brokerName>    the record of a group, as JSON
    <prefix>/controller             address of the leading controller; ends with its lease

Rule: nothing is cached. Each read is linearizable, and each change compares the revision of its
key, so the records stay right even if two controllers believe that they lead.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from mqserver.controller.etcd import EtcdClient
from mqserver.controller.group_record import GroupRecord, decode_record, encode_record
from mqserver.controller.group_store import StoreUnavailable, Versioned
from storefmt.errors import ConfigDamaged

_Result = TypeVar("_Result")

THREADS: Final = 4
"""How many calls to etcd may be under way at a time."""


class GroupsEtcd:
    """The store that several controllers share.

    Args:
        client: a client of the etcd cluster.
        prefix: the beginning of all keys, such as ``/rocketmq``.
    """

    def __init__(self, client: EtcdClient, *, prefix: str) -> None:
        self._client = client
        self._prefix = f"{prefix}/groups/"
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="controller-etcd")

    async def open(self) -> None:
        """Do nothing: etcd may start after the controller."""

    async def read(self, broker_name: str) -> Versioned:
        """Return the newest record of a group.

        Raises:
            StoreUnavailable: etcd does not answer, or the record is damaged.
        """
        stored = await self._call(lambda: self._client.get(self._prefix + broker_name))
        if stored is None:
            return Versioned(None, 0)
        return Versioned(self._decode(broker_name, stored.value), stored.mod_revision)

    async def read_all(self) -> list[GroupRecord]:
        """Return the newest record of every group.

        Raises:
            StoreUnavailable: etcd does not answer, or a record is damaged.
        """
        stored = await self._call(lambda: self._client.get_prefix(self._prefix))
        return [self._decode(key, value.value) for key, value in stored]

    async def swap(self, broker_name: str, record: GroupRecord | None, *, revision: int) -> bool:
        """Replace a record if it still has ``revision``.

        Raises:
            StoreUnavailable: the outcome is unknown.
        """
        key = self._prefix + broker_name
        value = None if record is None else encode_record(record)
        return await self._call(lambda: self._client.swap(key, value, mod_revision=revision))

    async def close(self) -> None:
        """Wait for calls that are under way."""
        self._workers.shutdown()

    async def _call(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._workers, function)

    def _decode(self, key: str, text: str) -> GroupRecord:
        try:
            return decode_record(text)
        except ConfigDamaged as error:
            raise StoreUnavailable(f"the key {key} in etcd is damaged: {error}") from None

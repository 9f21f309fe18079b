"""Offset stores: consumer offsets are kept by the brokers, or by each broadcasting member.

    listener returns --> update --> table in memory --persist (5 s, drop, stop)--> broker, or file

A consumer offset is the queue offset to read next, in entries. ``increase_only`` keeps a late
result from moving it back. ``read`` returns None where nothing was ever committed, which is not
the same as 0.

Rule: a queue that went to another member is removed, so that nothing overwrites its offset.

Source: client/consumer/store/RemoteBrokerOffsetStore.java, LocalFileOffsetStore.java (4.9.7).
"""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, Protocol

from mqclient.client import queue_offsets
from mqclient.client.instance import MQClient
from mqclient.errors import BadAnswer, BadRequest, ClientError
from remoting.bodies import MessageQueue
from remoting.bodies.offsets import OffsetSerializeWrapper
from remoting.errors import BadBody
from storefmt.config import fastjson
from storefmt.formats.javamaps import hash_order, queue_hash

LOCAL_DIR: Final = Path("~/.rocketmq_offsets")


class OffsetStore(Protocol):
    """The interface of both kinds of offset store."""

    def update(self, queue: MessageQueue, queue_offset: int, *, increase_only: bool) -> None:
        """Set the offset in memory."""

    def known(self, queue: MessageQueue) -> int | None:
        """Return the offset in memory; None when there is none."""

    def table(self, topic: str) -> dict[MessageQueue, int]:
        """Return all offsets in memory of a topic."""

    def remove(self, queue: MessageQueue) -> None:
        """Forget the offset in memory."""

    async def read(self, queue: MessageQueue) -> int | None:
        """Return the offset that was persisted; None when there is none.

        Raises:
            ClientError: the broker did not answer.
        """

    async def persist(self, queues: Collection[MessageQueue], *, sure: bool = False) -> None:
        """Persist the offsets of these queues; ``sure`` waits until that is done."""


class _OffsetTable:
    """The offsets in memory."""

    def __init__(self) -> None:
        self._offsets: dict[MessageQueue, int] = {}

    def update(self, queue: MessageQueue, queue_offset: int, *, increase_only: bool) -> None:
        """Set the offset in memory."""
        if increase_only and self._offsets.get(queue, -1) >= queue_offset:
            return
        self._offsets[queue] = queue_offset

    def known(self, queue: MessageQueue) -> int | None:
        """Return the offset in memory; None when there is none."""
        return self._offsets.get(queue)

    def table(self, topic: str) -> dict[MessageQueue, int]:
        """Return all offsets in memory of a topic."""
        return {
            queue: queue_offset
            for queue, queue_offset in self._offsets.items()
            if queue.topic == topic
        }

    def remove(self, queue: MessageQueue) -> None:
        """Forget the offset in memory."""
        self._offsets.pop(queue, None)


class RemoteOffsets(_OffsetTable):
    """Offsets that the brokers keep (clustering)."""

    def __init__(self, client: MQClient, group: str) -> None:
        super().__init__()
        self._client = client
        self._group = group

    async def read(self, queue: MessageQueue) -> int | None:
        """Return the offset that the broker has.

        Raises:
            ClientError: the broker did not answer.
        """
        return await queue_offsets.committed(self._client, queue, group=self._group)

    async def persist(self, queues: Collection[MessageQueue], *, sure: bool = False) -> None:
        """Send the offsets of these queues; only ``sure`` waits for the answers.

        Raises:
            ClientError: a broker did not get its offset; the others did.
        """
        failure: ClientError | None = None
        for queue in queues:
            queue_offset = self._offsets.get(queue)
            if queue_offset is None:
                continue
            try:
                await queue_offsets.commit(
                    self._client,
                    queue,
                    group=self._group,
                    queue_offset=queue_offset,
                    oneway=not sure,
                )
            except ClientError as error:
                failure = error
        if failure is not None:
            raise failure


class LocalOffsets(_OffsetTable):
    """Offsets in a file of this member (broadcasting), with the same bytes as Java's file.

    No offset is ever removed: only this member has it, and a queue whose broker is away for a
    while would start from nothing.

    Args:
        client_id: the member, see ``MQClient.broadcast_id``.
        group: the consumer group, with its namespace.
        directory: the directory of all clients; Java uses ``~/.rocketmq_offsets``.

    Raises:
        BadAnswer: neither the file nor its ``.bak`` can be read.
    """

    def __init__(self, client_id: str, group: str, *, directory: Path = LOCAL_DIR) -> None:
        super().__init__()
        self.path = directory.expanduser() / client_id / group / "offsets.json"
        self._load()

    async def read(self, queue: MessageQueue) -> int | None:
        """Return the offset that the file had at the start, or the one set since."""
        return self._offsets.get(queue)

    def remove(self, queue: MessageQueue) -> None:
        """Keep the offset, because only this member has it (as in Java)."""

    async def persist(self, queues: Collection[MessageQueue], *, sure: bool = False) -> None:
        """Write the file with all offsets; ``.bak`` keeps the file before.

        Raises:
            OSError: the file cannot be written.
        """
        if not queues or not self._offsets:
            return
        body = OffsetSerializeWrapper(
            offset_table={queue: self._offsets[queue] for queue in _java_order(self._offsets)}
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Other processes may write the same file, as in Java, so it is replaced as a whole.
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.{id(self)}.tmp")
        with fresh.open("wb") as file:
            file.write(fastjson.dumps(body.to_json(), pretty=True).encode())
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.replace(self.path, self.path.with_name(self.path.name + ".bak"))
        os.replace(fresh, self.path)

    def _load(self) -> None:
        backup = self.path.with_name(self.path.name + ".bak")
        for path in (self.path, backup):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            try:
                self._offsets = dict(OffsetSerializeWrapper.decode(data).offset_table)
            except BadBody as error:
                if path == backup:
                    raise BadAnswer(
                        f"neither {self.path} nor its .bak can be read: {error}",
                        hint="remove both to start without offsets",
                    ) from error
                continue
            return


def _java_order(queues: Collection[MessageQueue]) -> list[MessageQueue]:
    """Return queues in the iteration order of Java's ConcurrentHashMap."""
    return hash_order(
        queues,
        lambda queue: queue_hash(queue.topic, queue.broker_name, queue.queue_id),
        is_concurrent=True,
    )


def offset_store(
    client: MQClient, group: str, *, broadcasting: bool, local_dir: str | Path
) -> OffsetStore:
    """Return the offset store of a consumer: a file for broadcasting, or the brokers.

    Args:
        client: the connections.
        group: the consumer group, with its namespace.
        broadcasting: whether every member gets every message.
        local_dir: the directory of the offset files.

    Raises:
        BadRequest: ``local_dir`` is not a path.
        BadAnswer: neither the offset file of this member nor its ``.bak`` can be read.
    """
    if not isinstance(local_dir, str | Path):
        raise BadRequest(f"local_dir {local_dir!r} is not a path", hint="give a text or a Path")
    if broadcasting:
        return LocalOffsets(client.broadcast_id, group, directory=Path(local_dir))
    return RemoteOffsets(client, group)

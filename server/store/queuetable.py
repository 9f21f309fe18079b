"""All consume queues of a store, by topic and queue id.

Rule: a queue comes into being with its first message and gets a directory with its first
written entries. A deleted topic leaves an empty directory, as in Java: that is how a
later scan of the log knows that its old messages are not to come back.

Source: store/DefaultMessageStore.java#findConsumeQueue, #cleanUnusedTopic.
"""

from pathlib import Path

from server.store.config import EXT_FILE_SIZE
from server.store.disk import Disk
from server.store.ext import ExtFiles
from server.store.queue import ConsumeQueue, QueueFiles
from storefmt.paths import StorePaths, check_topic_name


class QueueTable:
    """The queues; ``queues`` maps (topic, queue id) to each."""

    def __init__(
        self, disk: Disk, paths: StorePaths, *, file_size: int, ext_file_size: int = EXT_FILE_SIZE
    ) -> None:
        self.files = QueueFiles(disk, file_size=file_size)
        self.exts = ExtFiles(disk, paths, file_size=ext_file_size)
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}
        self._disk = disk
        self._paths = paths

    def make(
        self,
        topic: str,
        queue_id: int,
        *,
        min_offset: int = 0,
        max_offset: int = 0,
        first: int = 0,
    ) -> ConsumeQueue:
        """Return a new queue; offsets count entries.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        queue = ConsumeQueue(
            self.files,
            self._paths.queue_dir(topic, queue_id),
            topic=topic,
            queue_id=queue_id,
            min_offset=min_offset,
            max_offset=max_offset,
            first=first,
        )
        self.queues[topic, queue_id] = queue
        return queue

    def delete_topic(self, topic: str) -> int:
        """Remove every queue of a topic; returns how many there were.

        Raises:
            OSError: the disk refused; the queues are forgotten all the same.
        """
        check_topic_name(topic)
        gone = [key for key in self.queues if key[0] == topic]
        queues = [self.queues.pop(key) for key in gone]
        for queue in queues:
            self.remove(queue)
        directory: Path = self._paths.consumequeue / topic
        if self._disk.is_dir(directory):
            self._disk.fsync_dir(directory)
        return len(queues)

    def remove(self, queue: ConsumeQueue) -> None:
        """Delete the files of one queue.

        Raises:
            OSError: the disk refused.
        """
        queue.remove()
        self.exts.remove(queue)

    def close(self) -> None:
        """Close every file."""
        self.files.close()
        self.exts.close()

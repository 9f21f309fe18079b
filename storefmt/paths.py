"""Where everything lies in a store directory, and which names may become paths.

    <root>/commitlog/00000000001073741824      name = position of its first byte
           consumequeue/<topic>/<queue id>/00000000000006000000
           consumequeue_ext/<topic>/<queue id>/…
           index/20261121041855172             name = local time it was made
           config/topics.json …                (+ .bak)
           checkpoint  abort  lock

Rule: a topic or group becomes part of a path, so every way in (wire, retry and dead letter names,
JSON files) calls ``check_topic_name`` or ``check_group_name``.

Source: store/config/StorePathConfigHelper.java, common/UtilAll.java#offset2FileName,
common/topic/TopicValidator.java, client/Validators.java.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storefmt.errors import BadCall

TOPIC_SIZE_MAX: Final = 127
GROUP_SIZE_MAX: Final = 255
DIRECTORY_NAME_SIZE_MAX: Final = 255
"""The longest name that a file system allows, and so the longest topic that has a directory."""
FILE_NAME_SIZE: Final = 20
_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
LOG_OFFSET_MAX: Final = 1 << 62
_FILE_NAME: Final = re.compile(r"[0-9]{20}")


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The paths of one store directory; the disk is not read."""

    root: Path

    @property
    def commitlog(self) -> Path:
        """Directory of the commit log files."""
        return self.root / "commitlog"

    @property
    def consumequeue(self) -> Path:
        """Directory of the consume queues, one directory a topic."""
        return self.root / "consumequeue"

    @property
    def consumequeue_ext(self) -> Path:
        """Directory of the consume queue ext files, only with enableConsumeQueueExt."""
        return self.root / "consumequeue_ext"

    @property
    def index(self) -> Path:
        """Directory of the index files."""
        return self.root / "index"

    @property
    def config(self) -> Path:
        """Directory of the JSON state files."""
        return self.root / "config"

    @property
    def checkpoint(self) -> Path:
        """File with the times up to which everything was flushed."""
        return self.root / "checkpoint"

    @property
    def abort(self) -> Path:
        """File that exists while a broker runs, and after a crash."""
        return self.root / "abort"

    @property
    def lock(self) -> Path:
        """File that a running broker holds locked."""
        return self.root / "lock"

    def queue_dir(self, topic: str, queue_id: int) -> Path:
        """Return the directory of one consume queue.

        Raises:
            BadCall: the topic may not become a path, or the queue id is negative.
        """
        return self.consumequeue / _topic_path(topic) / _queue_name(topic, queue_id)

    def queue_ext_dir(self, topic: str, queue_id: int) -> Path:
        """Return the directory of one queue's ext files; errors as ``queue_dir``."""
        return self.consumequeue_ext / _topic_path(topic) / _queue_name(topic, queue_id)

    def config_file(self, name: str) -> Path:
        """Return the path of ``config/<name>``, such as ``topics.json``."""
        return self.config / name


def log_file_name(log_offset: int) -> str:
    """Return the 20 digits that name the file that starts at ``log_offset`` (bytes).

    Raises:
        BadCall: the offset is negative or has more than 20 digits.
    """
    if not 0 <= log_offset < 10**FILE_NAME_SIZE:
        raise BadCall(f"offset {log_offset} cannot name a file; expected 0 to 20 digits")
    return f"{log_offset:020d}"


def parse_log_file_name(name: str) -> int | None:
    """Return the start offset (bytes) in a file name, None if it is not a log file's name.

    Offsets of ``LOG_OFFSET_MAX`` and more are refused, because sums with them would overflow.
    """
    start = int(name) if _FILE_NAME.fullmatch(name) else None
    return start if start is None or start <= LOG_OFFSET_MAX else None


def check_topic_name(text: str, *, size_max: int = TOPIC_SIZE_MAX) -> str:
    """Return ``text`` if it may be a topic.

    Args:
        size_max: 127 characters in 4.9; stores of 5.x hold up to 255.

    Raises:
        BadCall: it is empty, too long, or has a character outside ``% | a-z A-Z 0-9 _ -``.
    """
    return _check("topic", text, size_max)


def check_queue_id(topic: str, queue_id: int) -> int:
    """Return ``queue_id`` if a queue of the topic may have it.

    Raises:
        BadCall: it is negative.
    """
    if queue_id < 0:
        raise BadCall(f"queue id {queue_id} of topic {topic} is negative")
    return queue_id


def check_group_name(text: str) -> str:
    """Return ``text`` if it may be a producer or consumer group; errors as for topics."""
    return _check("group", text, GROUP_SIZE_MAX)


def _check(what: str, text: str, size_max: int) -> str:
    if not text:
        raise BadCall(f"{what} name is empty")
    if len(text) > size_max:
        raise BadCall(f"{what} name has {len(text)} characters, at most {size_max} are allowed")
    if not _NAME.fullmatch(text):
        raise BadCall(
            f"{what} name {text!r} has a character that is not allowed; "
            "letters, digits, %, |, _ and - are"
        )
    return text


def _topic_path(topic: str) -> str:
    return check_topic_name(topic, size_max=GROUP_SIZE_MAX)


def _queue_name(topic: str, queue_id: int) -> str:
    return str(check_queue_id(topic, queue_id))

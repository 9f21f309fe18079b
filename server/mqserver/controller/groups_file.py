"""The records of groups in one file of one controller.

    <directory>/groups.json    {"groups":{"g":{…},"h":{…}}}, with groups.json.bak
    <directory>/lock           held while a controller runs, so that a second one cannot start

Rule: memory changes only after the file is on disk. If a write fails, memory keeps the old records,
and the next write replaces whatever the failed one left.
"""

import asyncio
import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_store import StoreUnavailable, Versioned
from mqserver.runtime.jsonfile import load_state_file, write_atomic
from storefmt.config import fastjson
from storefmt.config.fastjson import Json, Key
from storefmt.errors import ConfigDamaged


class GroupsFile:
    """The store of the only controller of its groups.

    Args:
        directory: where the file is; it is created if it does not exist.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "groups.json"
        self._records: dict[str, Versioned] = {}
        self._revision = 0
        self._writing = asyncio.Lock()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="controller-groups")
        self._lock_handle = -1

    async def open(self) -> None:
        """Take the lock of the directory and read the file.

        Raises:
            StoreUnavailable: another controller uses the directory, or it cannot be read.
        """
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._lock_handle = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self._lock_handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._unlock()
            raise StoreUnavailable(
                f"{self._directory} is in use by a running controller; "
                "stop that one, or set another controllerStorePath"
            ) from None
        except OSError as error:
            self._unlock()
            raise StoreUnavailable(f"{self._directory}: {error.strerror}") from error
        try:
            records = load_state_file(self._path, _decode) or []
        except (ConfigDamaged, OSError) as error:
            self._unlock()
            raise StoreUnavailable(f"{self._path}: {error}") from error
        for record in records:
            self._records[record.broker_name] = self._versioned(record)

    async def read(self, broker_name: str) -> Versioned:
        """Return the record of a group."""
        return self._records.get(broker_name, Versioned(None, 0))

    async def read_all(self) -> list[GroupRecord]:
        """Return the records of all groups, by broker name."""
        records = [self._records[name].record for name in sorted(self._records)]
        return [record for record in records if record is not None]

    async def swap(self, broker_name: str, record: GroupRecord | None, *, revision: int) -> bool:
        """Replace a record if it still has ``revision``.

        Raises:
            StoreUnavailable: the file cannot be written.
        """
        async with self._writing:
            current = self._records.get(broker_name, Versioned(None, 0))
            if current.revision != revision:
                return False
            changed = dict(self._records)
            if record is None:
                changed.pop(broker_name, None)
            else:
                changed[broker_name] = self._versioned(record)
            text = _encode(changed)
            loop = asyncio.get_running_loop()
            try:
                await loop.run_in_executor(self._worker, write_atomic, self._path, text)
            except OSError as error:
                raise StoreUnavailable(f"{self._path}: {error.strerror}") from error
            self._records = changed
            return True

    async def close(self) -> None:
        """Wait for a write in progress, and release the lock."""
        async with self._writing:
            self._worker.shutdown()
            self._unlock()

    def _versioned(self, record: GroupRecord) -> Versioned:
        self._revision += 1
        return Versioned(record, self._revision)

    def _unlock(self) -> None:
        if self._lock_handle >= 0:
            os.close(self._lock_handle)
            self._lock_handle = -1


def _encode(records: dict[str, Versioned]) -> str:
    groups: dict[Key, Json] = {
        name: versioned.record.to_json()
        for name, versioned in sorted(records.items())
        if versioned.record is not None
    }
    return fastjson.dumps({"groups": groups})


def _decode(data: bytes) -> list[GroupRecord]:
    try:
        plain = fastjson.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigDamaged(f"byte {error.start} is not UTF-8") from None
    groups = plain.get("groups") if isinstance(plain, dict) else None
    if not isinstance(groups, dict):
        raise ConfigDamaged("expected an object with the key groups")
    return [GroupRecord.from_json(value) for value in groups.values()]

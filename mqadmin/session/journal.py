"""The state before destructive writes, kept on this machine so that `undo` can restore it.

    $XDG_STATE_HOME/mqadmin/journal/000012.json        (or ~/.local/state, mode 600)
    {"id": 12, "at_ms": ..., "namesrv": "...", "command": "topic delete orders",
     "saved": [{"kind": "topic", "broker": "broker-a", ..., "names": ["orders"], "before": {...}}]}

Rule: an entry is on disk before the first write is sent; if it cannot be written, nothing is
sent. An entry may hold secrets (of an ACL account): only the user can read its file, and its
contents are never printed.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

from mqadmin.errors import CommandError, ItemNotFound
from storefmt.config.fastjson import Json

KEPT_MAX: Final = 1000
"""How many entries are kept; the oldest are deleted first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """One item on one server as it was; ``before`` is None if it did not exist.

    Attributes:
        kind: which class of ``mqadmin.changes.targets`` reads and writes it.
        names: what names it there: a topic; a namespace and a key.
    """

    kind: str
    cluster: str
    broker: str
    broker_id: int
    address: str
    names: tuple[str, ...]
    before: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """What one command was about to change.

    Attributes:
        undone_ms: when `undo` restored it; None if it has not been undone.
        undoes: the entry that this command restored.
    """

    id: int
    at_ms: int
    namesrv: str
    command: str
    saved: tuple[SavedState, ...]
    undone_ms: int | None = None
    undoes: int | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """The entries of one user, oldest first."""

    folder: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "Journal":
        """Return the journal for the user of this environment."""
        base = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME", "."), ".local", "state")
        return cls(Path(base) / "mqadmin" / "journal")

    def add(
        self,
        command: str,
        saved: Sequence[SavedState],
        *,
        namesrv: str,
        at_ms: int,
        undoes: int | None = None,
    ) -> JournalEntry:
        """Write an entry and return it.

        Raises:
            CommandError: it cannot be written.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in count(max(self._numbers(), default=0) + 1):
                entry = JournalEntry(
                    id=number,
                    at_ms=at_ms,
                    namesrv=namesrv,
                    command=command,
                    saved=tuple(saved),
                    undoes=undoes,
                )
                # Another process may have used the number by now.
                with suppress(FileExistsError):
                    _write(self._path(number), entry)
                    break
        except OSError as error:
            raise CommandError(
                f"cannot keep the old state in {self.folder}: {error.strerror or error}",
                hint="nothing was changed; set XDG_STATE_HOME to a directory that can be written",
            ) from None
        for old in sorted(self._numbers())[:-KEPT_MAX]:
            self._path(old).unlink(missing_ok=True)
        return entry

    def entries(self) -> Iterator[JournalEntry]:
        """Yield every entry, oldest first.

        Raises:
            CommandError: a file is not a journal entry.
        """
        for number in sorted(self._numbers()):
            yield self.entry(number)

    def entry(self, number: int) -> JournalEntry:
        """Return one entry.

        Raises:
            ItemNotFound: the entry does not exist.
            CommandError: its file is not a journal entry.
        """
        path = self._path(number)
        try:
            return _decode(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ItemNotFound(
                f"entry {number} not found in the journal", hint="`undo --list`"
            ) from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CommandError(
                f"{path}: not a journal entry ({error!r})", hint="move it away"
            ) from None

    def latest(self) -> JournalEntry:
        """Return the newest entry that has not been undone.

        Raises:
            ItemNotFound: the journal has no entry to undo.
        """
        for number in sorted(self._numbers(), reverse=True):
            entry = self.entry(number)
            if entry.undone_ms is None and entry.undoes is None:
                return entry
        raise ItemNotFound("nothing to undo", hint="`undo --list` shows what was restored")

    def mark_undone(self, entry: JournalEntry, *, at_ms: int) -> None:
        """Record that an entry was undone."""
        fresh = self._path(entry.id).with_suffix(f".{os.getpid()}.tmp")
        _write(fresh, replace(entry, undone_ms=at_ms))
        fresh.replace(self._path(entry.id))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _numbers(self) -> list[int]:
        return [int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdecimal()]


def _write(path: Path, entry: JournalEntry) -> None:
    """Write a new file that only its user can read, and have it on disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(asdict(entry), out)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())


def _decode(value: dict[str, object]) -> JournalEntry:
    listed = value.pop("saved")
    if not isinstance(listed, list):
        raise TypeError("`saved` is not a list")
    saved = tuple(SavedState(**{**fields, "names": tuple(fields["names"])}) for fields in listed)
    return JournalEntry(**value, saved=saved)  # type: ignore[arg-type]

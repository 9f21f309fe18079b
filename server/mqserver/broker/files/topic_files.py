"""The two state files of topics: topics.json, and topicChanges.json while there are many topics.

    up to 1,000 topics     each change writes topics.json
    more                   a change writes what changed since topics.json was written;
                           topics.json follows after 256 changed topics, 5 s or at the stop

    start                  topics.json, and the changes if their ``base`` is its data version

Why: a new topic has to be on disk before its creation is answered, and with 20,000 topics the
text of topics.json has 3.6 MB and takes some 80 ms to write. The real broker writes all of it each
time. It does not read topicChanges.json, so if it opens the store after this broker was killed, it
lacks the changes of the last 5 s.

Rule: both files are replaced as a whole, and a crash at any moment leaves every change that was
reported as written. A new topics.json has another version than the ``base`` of the changes, so a
start ignores them. After a failed write of topics.json it is not known which version is on disk,
so it is written again before any changes.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mqserver.broker.files.saves import Write
from storefmt.config.tables import TopicTable, TopicTexts
from storefmt.paths import StorePaths

WHOLE_COUNT_MAX: Final = 1_000
"""Up to this many topics, topics.json is written at each change: that costs little more than the
two syncs, and the real broker finds every topic even after a kill."""
CHANGED_COUNT_MAX: Final = 256
"""After this many changed topics, topics.json is written, because every write of topicChanges.json
repeats all of them."""


class TopicFiles:
    """Writes the topics of one broker; one thread at a time may do so.

    Args:
        paths: of the store.
        table: takes a snapshot of the topics.
    """

    def __init__(self, paths: StorePaths, table: Callable[[], TopicTable]) -> None:
        self.path = paths.config_file("topics.json")
        self.texts = TopicTexts()
        self.has_changes = False
        """Whether topics.json lacks changes that topicChanges.json has."""
        self._changes_path = paths.config_file("topicChanges.json")
        self._table = table
        self._is_due = False
        self._written: TopicTable | None = None
        """The topics that topics.json contains; None if that is not known."""
        self._last: TopicTable | None = None
        """The topics that both files together contain; None if that is not known."""

    def complete(self) -> None:
        """Write topics.json at the next write, even after few changes."""
        self._is_due = True

    def snapshot(self) -> Callable[[Write], None]:
        """Take a snapshot, and return a function that writes it in a thread."""
        is_due, self._is_due = self._is_due, False
        return partial(self._save, self._table(), is_due)

    def _save(self, table: TopicTable, is_due: bool, write: Write) -> None:
        if table == self._last and not is_due:
            return
        self._last = None
        base = self._written
        if base is not None and not is_due and len(table.topics) > WHOLE_COUNT_MAX:
            changes = table.changes_since(base)
            if changes.count <= CHANGED_COUNT_MAX:
                write(self._changes_path, changes.encode())
                self._last = table
                self.has_changes = True
                return
        self._written = None
        write(self.path, table.encode(self.texts))
        self._written = self._last = table
        self.has_changes = False

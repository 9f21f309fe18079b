"""Explains the records that have no queue entry, by queue and run of entries.

queue without a directory      lost, or its topic was deleted
before its first file          that file is missing
after its last entry           not dispatched yet, or the queue was cut
a filler is in its place       a recovery of the broker overwrote the entry
another record has the entry   the topic was deleted and created again
the queue began again later    the same, and the new topic has fewer messages

The log does not say that a topic was deleted. Three things show it: a queue whose entry 0
points after older records of that queue; a queue whose last entry points after a record
that should come after it; a directory of a topic from which queues are missing, since
``deleteTopic`` removes the directories of the queues and leaves that of the topic.

Source: store/DefaultMessageStore.java#cleanUnusedTopic, store/ConsumeQueue.java#destroy.
"""

from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Final

from storefmt.errors import StoreError
from storefmt.formats.consumequeue import ENTRY_SIZE, CqEntry
from storefmt.names import TopicKind, kind_of
from storefmt.offline.verify.entries import missing_place, rebuild_hint
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.views.config import ConfigTables
from storefmt.offline.views.matching import ExpectedEntry, Matching, is_entry_of
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView

_UNLISTED: Final = (
    TopicKind.DELAY, TopicKind.HALF, TopicKind.OP, TopicKind.CHECK_MAX, TopicKind.TRACE,
    TopicKind.LMQ,
)  # fmt: skip
"""Kinds of topics that a broker may use although topics.json does not list them."""


@dataclass(slots=True)
class MissingEntries:
    """Explains the records that are left in a ``Matching`` after all entries were read.

    Attributes:
        queue_end: log offset after the last record that any queue knows.
        holes: (start, end) of the log that could not be read.
    """

    store: StoreView
    findings: Findings
    matching: Matching
    config: ConfigTables
    queue_end: int
    holes: list[tuple[int, int]]
    _made_again: dict[str, int] = field(default_factory=dict)
    """Topics that were deleted and created again, with the log offset of their first new record."""

    def report(self) -> None:
        """Add a finding for each run of records without an entry."""
        for expected in self.matching.by_entry.values():
            self._note_made_again(expected)
        by_place = attrgetter("topic", "queue_id", "queue_offset")
        left = sorted(self.matching.by_entry.values(), key=by_place)
        for _, group in groupby(left, key=lambda expected: expected.key):
            run: list[ExpectedEntry] = []
            reason = ""
            for expected in group:
                why = self._reason(expected)
                if run and (why != reason or expected.queue_offset != run[-1].queue_offset + 1):
                    self._report_reason(reason, run[0], len(run))
                    run = []
                reason = why
                run.append(expected)
            self._report_reason(reason, run[0], len(run))
        for overflow in self.matching.overflow.values():
            self._report_reason(self._reason(overflow.first), overflow.first, overflow.count)

    def _note_made_again(self, expected: ExpectedEntry) -> None:
        """Remember the topic of a record that lies before entry 0 of its own queue."""
        view = self.matching.view(expected.key)
        if view is None or view.start_offset != 0:
            return
        first = self._entry_of_record(view, 0)
        if first is not None and expected.log_offset < first.log_offset:
            known_offset = self._made_again.get(expected.topic, 0)
            self._made_again[expected.topic] = max(known_offset, first.log_offset)

    def _entry_of_record(self, view: QueueView, queue_offset: int) -> CqEntry | None:
        """Return the entry if it belongs to a record of the log, else None."""
        has = self.matching.marks[(view.topic, view.queue_id)].has(queue_offset)
        return next(iter(view.entries(queue_offset, 1)))[1] if has else None

    def _is_of_deleted_topic(self, expected: ExpectedEntry) -> bool:
        """Return whether a record without an entry was sent before its topic was deleted."""
        view = self.matching.view(expected.key)
        if view is not None:
            last = self._entry_of_record(view, view.max_offset - 1)
            behind = expected.queue_offset >= view.max_offset
            return last is not None and behind and expected.log_offset < last.log_offset
        tree = self.store.tree
        if expected.topic not in tree.topics:
            return False
        if expected.log_offset < self._made_again.get(expected.topic, 0):
            return True
        return not any(topic == expected.topic for topic, _ in tree.queues)

    def _reason(self, expected: ExpectedEntry) -> str:
        view = self.matching.view(expected.key)
        if view is None and not is_known_topic(expected.topic, self.config):
            return "topic_deleted"
        if self._is_of_deleted_topic(expected):
            return "topic_made_again"
        if view is None or not view.files:
            # A broker that is killed between making a directory and its file leaves it empty.
            return "queue_missing"
        k = expected.queue_offset
        if view.file_of(k) is None:
            if k < view.start_offset:
                return "queue_start_missing"
            return "queue_behind" if k * ENTRY_SIZE >= view.files[-1].end else "reported"
        try:
            entry = next(iter(view.entries(k, 1)), None)
            fresh = entry[1] if entry else None
        except StoreError:
            fresh = None
        if fresh is not None and is_entry_of(fresh, expected):
            # A broker that runs has written the entry meanwhile.
            return "reported"
        if fresh is not None and fresh.is_filler:
            return "queue_filler"
        if self.matching.marks[expected.key].has(k):
            return "superseded"
        return "queue_behind" if k >= view.max_offset else "queue_entry_wrong"

    def _report_reason(self, reason: str, first: ExpectedEntry, count: int) -> None:
        if reason == "reported":
            return
        if reason in ("superseded", "topic_made_again"):
            self._tell_old_topic(reason, first, count)
            return
        if reason == "queue_filler":
            self._tell_fillers(first, count)
            return
        severity, hint = self._verdict(reason, first)
        file, pos = missing_place(self.store, *first.key, first.queue_offset)
        if reason in ("queue_missing", "topic_deleted"):
            file, pos = f"consumequeue/{first.topic}/{first.queue_id}", 0
        elif reason == "queue_start_missing":
            pos = 0
        self.findings.error(
            reason,
            file,
            pos=pos,
            found="no entry",
            expected=f"an entry for the record at log offset {first.log_offset}",
            hint=hint,
            size=count * ENTRY_SIZE,
            count=count,
            severity=severity,
        )

    def _verdict(self, reason: str, first: ExpectedEntry) -> tuple[Severity, str]:
        if reason == "topic_deleted":
            return Severity.INFO, "the topic is not in topics.json: it was deleted"
        if reason == "queue_missing" and self.store.is_never_run:
            return Severity.INFO, "no broker has run on this store; the first builds its queues"
        behind, rebuild = first.log_offset >= self.queue_end, rebuild_hint(self.store)
        if self.store.aborted and behind and reason in ("queue_behind", "queue_missing"):
            return Severity.INFO, "a broker writes the entries when it continues or recovers"
        if reason != "queue_behind":
            return Severity.ERROR, f"readers do not get these messages; {rebuild}"
        if self.store.aborted:
            return Severity.WARNING, "other queues go further; a recovering broker fills this in"
        if not behind:
            return Severity.ERROR, f"other queues go further, so no broker fills this in; {rebuild}"
        if any(end > self.queue_end for _, end in self.holes):
            return Severity.INFO, "left behind damage by a recovery; a broker overwrites it"
        return Severity.WARNING, "a broker writes the entries when it starts"

    def _tell_fillers(self, first: ExpectedEntry, count: int) -> None:
        view = self.matching.view(first.key)
        assert view is not None
        file, pos = missing_place(self.store, *first.key, first.queue_offset)
        self.findings.error(
            "queue_filler",
            file,
            pos=pos,
            found=f"{count} of {view.max_offset - view.start_offset} entries are fillers",
            expected=f"entries of the records from log offset {first.log_offset} on",
            hint="the log has these messages, but readers skip them, because a recovery overwrote "
            "their entries; `store rebuild` rebuilds the queue, as mqbroker does when it starts",
            size=count * ENTRY_SIZE,
            count=count,
        )

    def _tell_old_topic(self, reason: str, first: ExpectedEntry, count: int) -> None:
        name, k = f"queue {first.topic} {first.queue_id}", first.queue_offset
        hint = "the topic was deleted and created again, or a recovery left this record behind"
        expected = f"another record is entry {k} of {name}"
        if reason == "topic_made_again":
            expected = f"{name} has no entry {k}"
            hint = "the topic was deleted and created again; its old messages are no longer read"
            if first.key not in self.store.tree.queues:
                expected = f"there is no {name}, but the directory of its topic is there"
                hint += "; if the directory of the queue was lost, `store rebuild` rebuilds it"
        self.findings.error(
            reason,
            self.store.span_name(first.located.span),
            pos=first.located.pos,
            field="queue_offset",
            found=k,
            expected=expected,
            hint=hint,
            size=first.record.size,
            count=count,
            severity=Severity.INFO,
        )


def is_known_topic(topic: str, config: ConfigTables) -> bool:
    """Return whether a topic exists (was not deleted), as far as the config shows it."""
    has_config = topic in config.topics.topics or not config.topics_known
    return has_config or kind_of(topic) in _UNLISTED

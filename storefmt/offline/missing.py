"""Records that no entry points at: told per queue and run of entries.

queue without a directory      lost, or its topic was deleted
before its first file          that file is missing
behind its last entry          not dispatched yet, or the queue was cut
another record has the entry   the topic was deleted and made again
"""

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from storefmt.consumequeue import ENTRY_SIZE
from storefmt.errors import StoreError
from storefmt.offline.config import StoreConfig
from storefmt.offline.entries import REBUILD, missing_place
from storefmt.offline.findings import Findings, Severity
from storefmt.offline.matching import Expected, Matching
from storefmt.offline.opened import Opened
from storefmt.vocabulary import TopicKind, kind_of

_UNLISTED: Final = (
    TopicKind.DELAY, TopicKind.HALF, TopicKind.OP, TopicKind.CHECK_MAX, TopicKind.TRACE,
    TopicKind.LMQ,
)  # fmt: skip
"""Kinds of topics that a broker may use without a line in topics.json."""


@dataclass(slots=True)
class MissingEntries:
    """Explains the records that are left in a ``Matching`` when all entries were seen.

    Attributes:
        queue_end: log offset behind the last record that any queue knows.
        holes: (start, end) of the log that could not be read.
    """

    store: Opened
    findings: Findings
    matching: Matching
    config: StoreConfig
    queue_end: int
    holes: list[tuple[int, int]]

    def run(self) -> None:
        """Tell about each run of records without an entry."""
        by_place = attrgetter("topic", "queue_id", "queue_offset")
        left = sorted(self.matching.by_entry.values(), key=by_place)
        for _, group in groupby(left, key=lambda expected: expected.key):
            run: list[Expected] = []
            reason = ""
            for expected in group:
                why = self._reason(expected)
                if run and (why != reason or expected.queue_offset != run[-1].queue_offset + 1):
                    self._tell(reason, run[0], len(run))
                    run = []
                reason = why
                run.append(expected)
            self._tell(reason, run[0], len(run))
        for overflow in self.matching.overflow.values():
            self._tell(self._reason(overflow.first), overflow.first, overflow.count)

    def _reason(self, expected: Expected) -> str:
        view = self.matching.view(expected.key)
        if view is None:
            known = is_known_topic(expected.topic, self.config)
            return "queue_missing" if known else "topic_deleted"
        k = expected.queue_offset
        if view.file_of(k) is None:
            if k < view.start_offset or not view.files:
                return "queue_start_missing"
            return "queue_behind" if k * ENTRY_SIZE >= view.files[-1].end else "told"
        try:
            entry = next(iter(view.entries(k, 1)), None)
            fresh = entry[1] if entry else None
        except StoreError:
            fresh = None
        if fresh is not None and fresh.log_offset == expected.log_offset and fresh.size > 0:
            # A broker that runs has written the entry meanwhile.
            return "told"
        if self.matching.marks[expected.key].has(k):
            return "superseded"
        return "queue_behind" if k >= view.max_offset else "queue_entry_wrong"

    def _tell(self, reason: str, first: Expected, count: int) -> None:
        if reason == "told":
            return
        if reason == "superseded":
            self._superseded(first, count)
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

    def _verdict(self, reason: str, first: Expected) -> tuple[Severity, str]:
        if reason == "topic_deleted":
            return Severity.INFO, "the topic is in no topics.json: it was deleted"
        behind = first.log_offset >= self.queue_end
        if self.store.aborted and behind and reason in ("queue_behind", "queue_missing"):
            return Severity.INFO, "a broker writes the entries when it runs on or recovers"
        if reason != "queue_behind":
            return Severity.ERROR, f"readers do not get these messages; {REBUILD}"
        if self.store.aborted:
            return Severity.WARNING, "other queues go further; a broker that recovers fills this up"
        if not behind:
            return Severity.ERROR, f"other queues go further, so no broker fills this up; {REBUILD}"
        if any(end > self.queue_end for _, end in self.holes):
            return Severity.INFO, "left behind damage by a recovery; a broker overwrites it"
        return Severity.WARNING, "a broker writes the entries when it starts"

    def _superseded(self, first: Expected, count: int) -> None:
        self.findings.error(
            "superseded",
            self.store.span_name(first.span),
            pos=first.pos,
            field="queue_offset",
            found=first.queue_offset,
            expected=f"another record is entry {first.queue_offset} of queue {first.topic} "
            f"{first.queue_id}",
            hint="the topic was deleted and made again, or a recovery left this record behind",
            size=first.record.size,
            count=count,
            severity=Severity.INFO,
        )


def is_known_topic(topic: str, config: StoreConfig) -> bool:
    """Return whether a topic is there: not deleted, as far as the config can tell."""
    known = topic in config.topics.topics or not config.topics_known
    return known or kind_of(topic) in _UNLISTED

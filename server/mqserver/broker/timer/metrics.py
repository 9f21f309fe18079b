"""How many timer messages of each topic wait (``config/timermetrics``), for people and tools.

    {"dataVersion":{…},"timingCount":{"orders":{"count":3,"timeStamp":1795236607041}}}

Rule: nothing depends on these numbers. As in 5.4.0 a recall counts as one message less as soon as
it is stored, and again nothing when its slot is delivered, so a number may be one too low for each
message that was recalled.

Source: store/timer/TimerMetrics.java (5.4.0).
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from storefmt.config.foreign_json import read_json

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "timermetrics"


class TimingCounts:
    """The number of waiting messages of each topic, and when it changed last (ms)."""

    def __init__(self) -> None:
        self.change_count = 0
        """Increases with every change."""
        self._counts: dict[str, tuple[int, int]] = {}
        self._changed_ms = 0

    def load(self, path: Path) -> None:
        """Take over what a file says; one that cannot be read counts as an empty one."""
        try:
            counts = read_json(path.read_bytes())["timingCount"]
            self._counts = {
                topic: (int(metric["count"]), int(metric["timeStamp"]))
                for topic, metric in counts.items()
            }
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            LOG.warning("cannot read %s, so its numbers start at 0: %r", path, error)

    def reset(self) -> None:
        """Begin from 0, because the wheel is built again."""
        self._counts.clear()
        self.change_count += 1

    def add(self, topic: str, count: int, *, now_ms: int) -> None:
        """Count ``count`` messages more."""
        old_count = self._counts.get(topic, (0, 0))[0]
        self._counts[topic] = old_count + count, now_ms
        self._changed_ms = now_ms
        self.change_count += 1

    def counts(self) -> Mapping[str, int]:
        """Return the number of waiting messages of each topic."""
        return {topic: count for topic, (count, _) in self._counts.items()}

    def encode(self) -> str:
        """Return the text of the file."""
        return json.dumps(
            {
                "dataVersion": {
                    "counter": self.change_count,
                    "stateVersion": 0,
                    "timestamp": self._changed_ms,
                },
                "timingCount": {
                    topic: {"count": count, "timeStamp": changed_ms}
                    for topic, (count, changed_ms) in self._counts.items()
                },
            },
            separators=(",", ":"),
        )

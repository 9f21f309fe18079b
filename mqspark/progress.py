"""How far a stream is behind, from the progress that Spark reports of it.

    backlog(query.lastProgress)          {"orders@broker-a@0": 1200, …}     messages, by queue
    backlog(query.lastProgress)          {"/data/store": 52480}             bytes of log, by store

Spark lets no Python source add metrics of its own (up to 4.3): ``metrics`` of a progress stays
empty. But a progress has the offsets at which its batch ended, and those at which the sources
ended when the batch was planned.
"""

import json
from collections.abc import Mapping
from typing import Any


def backlog(progress: Mapping[str, Any] | None) -> dict[str, int]:
    """Return what the sources have that a stream has not read.

    Args:
        progress: ``query.lastProgress``, one of ``query.recentProgress``, or the JSON of one as a
            dictionary; None before the first batch.

    Returns:
        Messages by ``topic@broker@queue``, or bytes of log by store directory. The sum is the lag.
        Of sources that do not say where they end now (before Spark 4.2) there is nothing.
    """
    left: dict[str, int] = {}
    for source in (progress or {}).get("sources", ()):
        end, latest = (_offsets(source[name]) for name in ("endOffset", "latestOffset"))
        for name, last in latest.items():
            left[name] = max(0, _position(last) - _position(end.get(name, last)))
    return left


def _offsets(value: Any) -> dict[str, Any]:
    """Return the offsets of a source; a progress has them as text, or as what the text means."""
    offsets = json.loads(value) if isinstance(value, str) else value
    return offsets if isinstance(offsets, dict) else {}


def _position(value: Any) -> int:
    # A queue has a store time beside its position.
    return int(value[0] if isinstance(value, list) else value)

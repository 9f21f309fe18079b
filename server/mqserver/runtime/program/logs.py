"""The log of a server on stderr: one line for each event, as text or as JSON.

    2026-11-22 10:00:00,123 INFO mqserver.broker.app - kernels: send, scan
    {"time": "2026-11-22T10:00:00.123Z", "level": "INFO", "logger": "mqserver.broker.app", …}

Rule: an event is one line of JSON, whatever its text and its traceback contain.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum


class LogFormat(StrEnum):
    """How a line of the log is written; the value is that of ``--log``."""

    TEXT = "text"
    JSON = "json"


class JsonLines(logging.Formatter):
    """Writes an event as one JSON object: time (UTC, ISO 8601), level, logger, message, error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; ``error`` has the traceback, and is left out where there is none."""
        time = datetime.fromtimestamp(record.created, UTC)
        event = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        return json.dumps(event, ensure_ascii=False)


def configure_logging(log_format: LogFormat = LogFormat.TEXT) -> None:
    """Send the log to stderr, unless the caller has configured logging."""
    handler = logging.StreamHandler(sys.stderr)
    if log_format is LogFormat.JSON:
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s - %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)

"""The log of a server: an event is one line, of text or of JSON."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from mqserver.runtime.program.logs import LogFormat, configure_logging


@contextmanager
def configured(*args: LogFormat) -> Iterator[None]:
    """Configure the log as in a process without one, and restore that of pytest afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        configure_logging(*args)
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def test_an_event_is_one_object_of_json(capsys) -> None:
    with configured(LogFormat.JSON):
        logging.getLogger("mqserver.broker").warning("topic %s\nis \x1b[31mgone", "订单")

    (line,) = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert datetime.fromisoformat(event.pop("time")).utcoffset().total_seconds() == 0
    assert event == {
        "level": "WARNING",
        "logger": "mqserver.broker",
        "message": "topic 订单\nis \x1b[31mgone",
    }


def test_the_traceback_of_an_error_is_in_its_object(capsys) -> None:
    with configured(LogFormat.JSON):
        try:
            raise OSError(5, "Input/output error")
        except OSError:
            logging.getLogger("mqserver.store").exception("flush failed")

    (line,) = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert event["message"] == "flush failed"
    assert event["error"].startswith("Traceback")
    assert event["error"].endswith("OSError: [Errno 5] Input/output error")


def test_the_default_is_text_with_time_level_and_logger(capsys) -> None:
    with configured():
        logging.getLogger("mqserver.broker").info("kernels: %s", "send")

    assert capsys.readouterr().err.endswith(" INFO mqserver.broker - kernels: send\n")


def test_logging_that_the_caller_configured_stays(caplog) -> None:
    before = logging.getLogger().handlers[:]

    configure_logging(LogFormat.JSON)

    assert logging.getLogger().handlers == before

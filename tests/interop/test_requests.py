"""Every request that a broker handles, asked of the real one and of ours in the same state."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.interop.calltable import CALLS
from tests.interop.kit.bothsides import MISSING, Answers, Different, answered, surprises
from tests.interop.kit.servers import JavaSide, OurSide

NOT_SANE = "a value that no topic or client can have is refused; Java stores it"
ALLOW_LIST = "unknown keys and wrong values are refused by name; Java passes over them"
MADE = "a queue that is asked for, here before, is made by Java"
OWN_SETTINGS = "each broker has its own settings, and its own count of changes to them"
FILTER_SERVERS = "brokers of 4.3 and later know no filter servers, ours does"
EVERY_TOPIC = "a clone without a topic copies every topic here, and nothing in Java"

DIFFERENT: Final[Different] = {
    "create topic: no topic": ("remark", MISSING),
    "create topic: negative queues": ("code remark", NOT_SANE),
    "create topic: permission out of range": ("code remark", NOT_SANE),
    "delete topic: no topic": ("remark", MISSING),
    "query message: no key": ("code remark ext", MISSING),
    "query message: no topic": ("code remark ext", MISSING),
    "queue entries: unknown queue": ("code remark", MADE),
    "queue entries: unknown topic": ("code remark", MADE),
    "queue entries: empty queue": ("code remark", MADE),
    "heartbeat: empty": ("code remark", NOT_SANE),
    "goodbye: no fields": ("code remark", MISSING),
    "time span: no group": ("code remark body", MISSING),
    "rates: no name": ("remark", MISSING),
    "rates: no key": ("remark", MISSING),
    "correct positions: no group": ("code remark body", MISSING),
    "all positions: good": ("body", EVERY_TOPIC),
    "running info: no client": ("remark", MISSING),
    "reset positions: no group": ("remark", MISSING),
    "reply: no topic": ("remark ext", MISSING),
    "change settings: unknown key": ("code remark", ALLOW_LIST),
    "change settings: value is no number": ("code remark", ALLOW_LIST),
    "change settings: its own file": ("code remark", ALLOW_LIST),
    "settings: good": ("ext body", OWN_SETTINGS),
    "code 301: no fields": ("code remark", FILTER_SERVERS),
    "code 302: no fields": ("code remark", FILTER_SERVERS),
}


@pytest.fixture(scope="module")
def answers(
    java_side: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Answers]:
    """Yield what each side answers to every call."""
    with answered(java_side, our_side, tmp_path_factory, CALLS) as found:
        yield found


@pytest.mark.parametrize("name", CALLS)
def test_request_is_answered_as_by_the_real_broker(answers: Answers, name: str) -> None:
    assert surprises(answers, name, DIFFERENT) == {}

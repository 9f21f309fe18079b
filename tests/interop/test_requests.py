"""Every request that a broker handles, asked of the real one and of ours in the same state."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.interop.calltable import CALLS
from tests.interop.rawcalls import Seen, ask_all
from tests.interop.rocketmq import Broker, JavaSide, Namesrv, OurSide

pytestmark = pytest.mark.java

MISSING = "a field that Java needs is refused by name; Java goes on with null, and may succeed"
NOT_SANE = "a value that no topic or client can have is refused; Java stores it"
ALLOW_LIST = "only listed settings change, others are refused by name; Java passes over them"
NOT_SAVED = "Java rewrites its configuration file, ours says that it does not"
OWN_SETTINGS = "each broker has its own settings, and its own count of changes to them"
FILTER_SERVERS = "brokers of 4.3 and later know no filter servers, ours does"
EVERY_TOPIC = "a clone without a topic copies every topic here, and nothing in Java"

DIFFERENT: Final[Mapping[str, tuple[str, str]]] = {
    "create topic: no topic": ("remark", MISSING),
    "create topic: negative queues": ("code remark", NOT_SANE),
    "create topic: permission out of range": ("code remark", NOT_SANE),
    "delete topic: no topic": ("remark", MISSING),
    "query message: no key": ("code remark ext", MISSING),
    "query message: no topic": ("code remark ext", MISSING),
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
    "change settings: good": ("remark", NOT_SAVED),
    "change settings: no body": ("remark", NOT_SAVED),
    "change settings: unknown key": ("code remark", ALLOW_LIST),
    "change settings: value is no number": ("code remark", ALLOW_LIST),
    "change settings: its own file": ("code remark", ALLOW_LIST),
    "settings: good": ("ext body", OWN_SETTINGS),
    "code 301: no fields": ("code remark", FILTER_SERVERS),
    "code 302: no fields": ("code remark", FILTER_SERVERS),
}
"""Call -> which parts of the answers differ, and why. Beside these, the text of an exception
that Java did not mean to throw (class, message, stack element) has its own words here."""

EXCEPTION: Final = re.compile(r"(?:java|com|org)\.[\w.]+Exception\b")


@pytest.fixture(scope="module")
def answers(
    java_side: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Seen], dict[str, Seen]]]:
    """Yield what each side answers to every call."""
    sides = (("java", java_side), ("ours", our_side))
    namesrvs = [Namesrv(side).await_ready() for _, side in sides]
    brokers = [
        Broker(side, store=tmp_path_factory.mktemp(name) / "store", namesrv=namesrv.address)
        for (name, side), namesrv in zip(sides, namesrvs, strict=True)
    ]
    try:
        for broker in brokers:
            broker.await_ready()
        java, ours = (asyncio.run(ask_all(broker.address, CALLS)) for broker in brokers)
        yield java, ours
    finally:
        for server in brokers:
            server.kill()
        for server in namesrvs:
            server.stop()


@pytest.mark.parametrize("name", CALLS)
def test_request_is_answered_as_by_the_real_broker(
    answers: tuple[dict[str, Seen], dict[str, Seen]], name: str
) -> None:
    java, ours = (found[name]._asdict() for found in answers)
    allowed = set(DIFFERENT.get(name, ("", ""))[0].split())
    if java["code"] == ours["code"] == 1 and EXCEPTION.match(java["remark"]):
        allowed |= {"remark"}

    differing = {part for part in java if java[part] != ours[part]}

    assert {part: (java[part], ours[part]) for part in differing - allowed} == {}
    assert differing == allowed, "this no longer differs: take it off the list"

"""The same calls put to the real broker and to ours, and what may differ in the answers."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest

from tests.interop.kit.raw_calls import Answer, CallOn, ask_all
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide

Answers = tuple[dict[str, Answer], dict[str, Answer]]
"""Java's and ours, by the name of the call."""
Different = Mapping[str, tuple[str, str]]
"""Call -> which parts of the answers differ, and why."""

EXCEPTION: Final = re.compile(r"(?:java|com|org)\.[\w.]+Exception\b")
MISSING: Final = "a field that Java needs is refused by name; Java goes on with null, may succeed"


@contextmanager
def answered(
    java_side: JavaSide,
    our_side: OurSide,
    tmp_path_factory: pytest.TempPathFactory,
    calls: Mapping[str, CallOn],
    *,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Answers]:
    """Yield what brokers of both sides, alone with their name server, answer to every call."""
    sides = (("java", java_side), ("ours", our_side))
    namesrvs = [Namesrv(side).await_ready() for _, side in sides]
    brokers = [
        Broker(
            side,
            store=tmp_path_factory.mktemp(name) / "store",
            namesrv=namesrv.address,
            settings=settings,
        )
        for (name, side), namesrv in zip(sides, namesrvs, strict=True)
    ]
    try:
        for broker in brokers:
            broker.await_ready()
        java, ours = (asyncio.run(ask_all(broker.address, calls)) for broker in brokers)
        yield java, ours
    finally:
        for server in brokers:
            server.kill()
        for server in namesrvs:
            server.stop()


def surprises(answers: Answers, name: str, different: Different) -> dict[str, object]:
    """Return the parts of the answers to a call that differ and are not on the list.

    A part that is on the list and no longer differs is one, too. The text of an exception that
    Java did not mean to throw (class, message, stack element) has its own words here.
    """
    java, ours = (found[name]._asdict() for found in answers)
    listed = set(different.get(name, ("", ""))[0].split())
    if java["code"] == ours["code"] == 1 and EXCEPTION.match(java["remark"]):
        listed |= {"remark"}
    differing = {part for part in java if java[part] != ours[part]}
    unlisted = {part: (java[part], ours[part]) for part in differing - listed}
    return {**unlisted, **dict.fromkeys(listed - differing, "no longer differs")}

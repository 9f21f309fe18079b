"""What consumers and transactional producers ask, of the real broker and of ours."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.interop.consumecalls import CALLS
from tests.interop.rawcalls import Seen, ask_all
from tests.interop.rocketmq import Broker, JavaSide, Namesrv, OurSide
from tests.interop.test_requests import EXCEPTION, MISSING

pytestmark = pytest.mark.java

NOT_SANE = "a negative position is never stored, a negative count is one; Java stores or fails"

DIFFERENT: Final[Mapping[str, tuple[str, str]]] = {
    "pull: less than none": ("code remark ext body", NOT_SANE),
    "pull: no suspension time": ("code remark ext body", MISSING),
    "pull: no version": ("code remark ext body", MISSING),
    "position: after pulls that commit": ("ext", NOT_SANE),
    "position: no group": ("code remark ext", MISSING),
    "move: no group": ("code remark", MISSING),
}
"""Call -> which parts of the answers differ, and why. Beside these, the text of an exception
that Java did not mean to throw has its own words here."""


@pytest.fixture(scope="module")
def answers(
    java_side: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Seen], dict[str, Seen]]]:
    """Yield what each side answers to every call."""
    sides = (("java", java_side), ("ours", our_side))
    namesrvs = [Namesrv(side).await_ready() for _, side in sides]
    brokers = [
        Broker(
            side,
            store=tmp_path_factory.mktemp(name) / "store",
            namesrv=namesrv.address,
            settings={"slaveReadEnable": "true"},
        )
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

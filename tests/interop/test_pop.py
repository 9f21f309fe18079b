"""Consumers of 5.4.0 in POP mode on the real 5.4.0 broker, and on ours."""

import uuid
from pathlib import Path
from typing import Final

import pytest

from remoting.receipt import decode_receipt
from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.servers import JavaSide, OurSide, Side, running_pair
from tests.interop.kit.toolbox import Line, alone

COUNT: Final = 40
REFUSED: Final = ["m3", "m17"]


@pytest.fixture(params=["java", "ours"])
def lines(
    request: pytest.FixtureRequest, five: JavaSide, our_side: OurSide, tmp_path: Path
) -> list[Line]:
    """Return what two consumers of a group in POP mode said."""
    # A store that was used has its own timer log size in 5.4.0.
    side: Side = five if request.param == "java" else our_side
    more = {"mappedFileSizeTimerLog": "1024000"} if side is five else {}
    with running_pair(side, tmp_path / "store", settings=more) as pair:
        await_registered(pair)
        name = uuid.uuid4().hex[:6]
        spec = {
            "namesrv": pair.namesrv.address,
            "cluster": pair.broker.cluster,
            "topic": f"Popped_{name}",
            "group": f"PopGroup_{name}",
            "count": COUNT,
            "refused": REFUSED,
        }
        return alone(five, "FivePop", spec, flags=())


def test_two_consumers_in_pop_mode_get_each_message_and_a_refused_one_again(
    lines: list[Line],
) -> None:
    popped = [line for line in lines if line["event"] == "popped"]
    taken = [line["body"] for line in popped if not line["refused"]]
    again = {line["body"]: line for line in popped if line["body"] in REFUSED and line["times"]}

    assert lines[-1] == {"event": "end", "complete": True}
    assert sorted(taken) == sorted(f"m{number}" for number in range(COUNT))
    assert {body: line["times"] for body, line in again.items()} == dict.fromkeys(REFUSED, 1)
    assert {line["topic"] for line in popped} == {lines[0]["topic"]}
    assert {decode_receipt(line["handle"]).topic_kind for line in again.values()} == {"1"}

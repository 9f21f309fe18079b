"""Consumers of 5.4.0 in POP mode on the real 5.4.0 broker, and on ours."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from mqclient.admin.admin import Admin
from remoting.receipt import decode_receipt
from tests.interop.kit.our_clients import blocking
from tests.interop.kit.servers import JavaSide, OurSide, Servers, Side, running_pair
from tests.interop.kit.toolbox import Line, alone
from tests.waiting import eventually

COUNT: Final = 40
REFUSED: Final = ["m3", "m17"]


@contextmanager
def served(side: Side, directory: Path) -> Iterator[Servers]:
    # A store that was used has its own timer log size in 5.4.0.
    more = {"mappedFileSizeTimerLog": "1024000"} if side.name == "java" else {}
    with running_pair(side, directory / "store", settings=more) as found:
        # Unlike ours, that of 5.x says that it serves before the name server knows of it.
        with blocking(found) as client:
            clusters = Admin(client.mq).cluster_info
            client.run(
                eventually(
                    clusters, lambda info: "broker-a" in info.broker_addr_table, timeout_s=90
                )
            )
        yield found


@pytest.fixture(params=["java", "ours"])
def lines(
    request: pytest.FixtureRequest, five: JavaSide, our_side: OurSide, tmp_path: Path
) -> list[Line]:
    """Return what two consumers of a group in POP mode said."""
    side: Side = five if request.param == "java" else our_side
    with served(side, tmp_path) as pair:
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

"""docs/howto/night-shift-5.md, run against brokers of 5.4.0.

namesrv (ours) ── controller (ours) ── broker-a: a master and a slave of 5.4.0
              `── broker-r (5.4.0), whose queues and settings are in RocksDB
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.kit.java_build import JAVA_FIVE, class_path, need_java
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, Controller, JavaSide, Namesrv, OurSide
from tests.interop.test_auth_five import PASSWORD, ROOT
from tests.interop.test_auth_five import SETTINGS as ACCOUNTS
from tests.test_howtos import check_page
from tests.waiting import wait


@pytest.fixture
def cluster(our_side: OurSide, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Run the cluster of the page; yield its variables."""
    need_java()
    home = tmp_path / "rocketmq"
    home.mkdir()
    side = JavaSide(home, class_path(JAVA_FIVE))
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(our_side))
        controller = stack.enter_context(Controller(our_side, directory=tmp_path / "controller"))
        grouped = {"enableControllerMode": "true", "controllerAddr": controller.address}
        rocks = {
            "brokerName": "broker-r",
            "storeType": "defaultRocksDB",
            "timerWheelEnable": "false",
        }
        brokers = []
        for name, settings in (("first", grouped), ("second", grouped), ("rocks", rocks)):
            broker = Broker(
                side,
                store=tmp_path / name,
                namesrv=namesrv.address,
                settings={**ACCOUNTS, **settings},
            )
            stack.callback(broker.kill)
            # The first of the group becomes its master.
            brokers.append(broker.await_ready())
        env = {
            "HOME": str(tmp_path),
            "MQADMIN_ACCESS_KEY": ROOT,
            "MQADMIN_SECRET_KEY": PASSWORD,
        }
        ours = OurMqadmin(namesrv.address, env)
        states = ["IN_SYNC", "MASTER"]
        wait(lambda: sorted(row["state"] for row in ours("controller", "status")) == states)
        wait(lambda: len(ours("broker", "list")) == len(brokers))
        yield {
            "CLUSTER": namesrv.address,
            "ROOT_PASSWORD": PASSWORD,
            "STORE": str(brokers[2].store),
            "MASTER": str(brokers[0].pid),
            "ROCKS": str(brokers[2].pid),
        }


def test_the_page_prints_what_it_says(cluster: dict[str, str], tmp_path: Path) -> None:
    directory = tmp_path / "here"
    directory.mkdir()

    check_page("night-shift-5.md", directory, cluster)

"""A cluster of which one broker has accounts and another has none, as Java's tool sees it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, guarded_broker
from tests.interop.kit.toolbox import Toolbox

ACCOUNTS = {
    "globalWhiteRemoteAddresses": ["127.0.0.1"],
    "accounts": [{"accessKey": "mixedAdmin", "secretKey": "mixedSecret", "admin": True}],
}


@pytest.fixture
def mixed(java_side: JavaSide, tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield a name server's address and those of two brokers of one cluster, one with accounts."""
    with Namesrv(java_side) as namesrv:
        at = namesrv.address
        plain = {"brokerName": "plain", "brokerClusterName": "Guarded"}
        with (
            guarded_broker(
                java_side, ACCOUNTS, name="guarded", namesrv=at, store=tmp_path / "guarded"
            ) as guarded,
            Broker(java_side, store=tmp_path / "plain", namesrv=at, settings=plain) as other,
        ):
            yield at, [guarded.address, other.address]


@pytest.mark.parametrize("name", ["clusterAclConfigVersion", "getAclConfig"])
def test_what_is_printed_ends_at_the_broker_without_accounts(
    mixed: tuple[str, list[str]], toolbox: Toolbox, tmp_path: Path, name: str
) -> None:
    namesrv, addresses = mixed
    ours = OurMqadmin(namesrv, {"HOME": str(tmp_path)})
    for words in (("-c", "Guarded"), *(("-b", address) for address in addresses)):
        java = toolbox.mqadmin(name, *words, "-n", namesrv)

        printed = ours.text(name, *words, "--compat=strict")

        # Java shows the secrets of all accounts; ours are hidden.
        assert printed == java.stdout.replace("mixedSecret", "******")
        assert ("success" in printed) == ("success" in java.stdout)

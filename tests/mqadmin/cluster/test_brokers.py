"""Which broker is the master of which slave."""

import pytest

from mqadmin.cluster.brokers import ServerNode, master_of

NODES = [
    ServerNode("east", "broker-a", 0, "10.0.0.1:10911"),
    ServerNode("east", "broker-a", 1, "10.0.0.2:10911"),
    ServerNode("west", "broker-a", 0, "10.0.1.1:10911"),
    ServerNode("west", "broker-b", 1, "10.0.1.2:10911"),
]


@pytest.mark.parametrize(
    ("node", "address"),
    [
        (NODES[0], None),
        (NODES[1], "10.0.0.1:10911"),
        (ServerNode("west", "broker-a", 2, "10.0.1.3:10911"), "10.0.1.1:10911"),
        (NODES[3], None),
    ],
    ids=["a master", "a slave", "a slave in another cluster", "a slave without a master"],
)
def test_the_master_of_a_slave_has_its_name_and_cluster(
    node: ServerNode, address: str | None
) -> None:
    assert master_of(node, NODES) == address

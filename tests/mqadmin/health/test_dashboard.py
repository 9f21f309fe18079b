"""The Grafana dashboard asks only for metrics and labels that the exporter has."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health.checkup import BrokerFacts
from mqadmin.health.scrape import Scrape
from mqadmin.shell.server import ServerAddresses
from mqclient import BlockingClient, ConsumeConcurrentlyStatus, Message, MessageExt
from tests.mqadmin.conftest import Run
from tests.waiting import wait

DASHBOARD: Final = json.loads(
    (Path(__file__).parents[3] / "examples" / "grafana-dashboard.json").read_text("utf-8")
)
PANELS: Final[list[dict[str, Any]]] = DASHBOARD["panels"]
QUERIES: Final = [target["expr"] for panel in PANELS for target in panel["targets"]]
METRIC: Final = re.compile(r"\brocketmq_\w+")
GROUPED: Final = re.compile(r"by \(([^)]*)\) ?\(")
LEGEND: Final = re.compile(r"\{\{(\w+)\}\}")


@pytest.fixture
def labels(at: Run, servers: ServerAddresses) -> dict[str, set[str]]:
    """Return the labels of each metric of a broker that has a bit of everything, and a slave."""
    dead, read = "%DLQ%GRAPHED", "GRAPHED"
    for topic in (dead, read):
        at("topic", "create", topic, "-q", "1")
    seen: list[bytes] = []

    def listen(messages: list[MessageExt], _: object) -> ConsumeConcurrentlyStatus:
        seen.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    with (
        BlockingClient(servers.namesrv) as client,
        client.push_consumer(read, listen, {read: "*"}),
    ):
        client.send(Message(read, b"m"))
        wait(lambda: seen)

        def scraped() -> dict[str, set[str]]:
            rows = at.rows("exporter", "--once")
            return {row["metric"]: set(row["labels"]) for row in rows}

        # The broker tells a statistic when it has counted one, and how far a group is behind in
        # its retry topic when the consumer has saved an offset there.
        late = {"rocketmq_client_consume_rt", "rocketmq_consumer_tps", "rocketmq_group_retrydiff"}
        wait(lambda: late <= scraped().keys())
        found = scraped()
    with_slave = Scrape(None, lambda: 0)  # type: ignore[arg-type]
    with_slave._add_slaves(
        [
            BrokerFacts(ServerNode("c", "b", broker_id, "h:1"), {"commitLogMaxOffset": "1"}, 0, 0)
            for broker_id in (0, 1)
        ]
    )
    found |= {name: set(family.labels) for name, family in with_slave.out.made.items()}
    return found | {"rocketmq_exporter_up": set()}


def test_each_query_names_metrics_and_labels_that_are_exported(labels: dict[str, set[str]]) -> None:
    for query in QUERIES:
        metrics = METRIC.findall(query)
        assert metrics, query
        for metric in metrics:
            assert metric in labels, query
            for names in GROUPED.findall(query):
                assert set(names.split(", ")) <= labels[metric], query


def test_each_legend_names_labels_that_its_query_keeps() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            kept = {name for names in GROUPED.findall(target["expr"]) for name in names.split(", ")}
            assert set(LEGEND.findall(target["legendFormat"])) == kept, panel["title"]


def test_panels_lie_beside_each_other() -> None:
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in PANELS)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_the_data_source_is_chosen_in_grafana() -> None:
    (variable,) = DASHBOARD["templating"]["list"]

    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    assert {
        source["uid"]
        for panel in PANELS
        for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"]))
    } == {f"${{{variable['name']}}}"}

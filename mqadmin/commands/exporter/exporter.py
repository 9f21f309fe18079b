"""``exporter``: serves a cluster's metrics to Prometheus until Ctrl-C.

    GET /metrics  -->  mqadmin.health.scrape (every request asks the cluster)  -->  text

Requests: see ``mqadmin.health.scrape``.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import PORT
from mqadmin.errors import CommandError, Interrupted, Usage, describe
from mqadmin.health.metrics import Families
from mqadmin.health.scrape import Scrape
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PORT_DEFAULT: Final = 5557
"""The port of rocketmq-exporter."""
SCRAPE_MAX_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class MetricRow(Row):
    """One value of one metric."""

    metric: str
    labels: dict[str, str]
    value: float


@command(
    "exporter",
    examples=(
        ("mqadmin exporter", "http://127.0.0.1:5557/metrics, until Ctrl-C"),
        ("mqadmin exporter --host 0.0.0.0 -p 9100", "for everybody"),
        ("mqadmin exporter --once -o json", "the same numbers as rows"),
    ),
    details="""\
Names and labels are those of rocketmq-exporter, so its dashboards and alerts work. Needs
prometheus-client: pip install 'mqadmin[exporter]'.""",
    rows=MetricRow,
)
@click.option(
    "--port", "-p", type=PORT, default=PORT_DEFAULT, help="to listen on; 0 takes a free one"
)
@click.option("--host", default="127.0.0.1", help="address to listen on")
@click.option("--once", is_flag=True, help="print one scrape, and end")
def exporter(call: Call, *, port: int, host: str, once: bool) -> Outcome:
    """Serve until Ctrl-C.

    Raises:
        CommandError: prometheus-client is not installed, or the port is taken.
    """
    if once:
        return Outcome(list(_rows(call.workplace.link.run(partial(_scrape, call)))))
    if call.is_watched:
        raise Usage("exporter goes on by itself", hint="leave --watch out")
    # A first scrape tells at once where no server answers.
    call.workplace.link.run(partial(_scrape, call))
    stop = _serve(call, host, port)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return Outcome((), exit_code=Interrupted.exit_code, format="name")
    finally:
        stop()
    return Outcome((), format="name")


def _serve(call: Call, host: str, port: int) -> Callable[[], None]:
    """Start the HTTP server and return what stops it."""
    try:
        # An extra that only this command needs.
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise CommandError(
            "prometheus-client is not installed", hint="pip install 'mqadmin[exporter]'"
        ) from None
    registry = CollectorRegistry()
    registry.register(ClusterCollector(call))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}:{port}: {error}") from None
    call.warn(f"serving http://{host}:{server.server_port}/metrics")

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


@dataclass(frozen=True, slots=True, eq=False)
class ClusterCollector:
    """Asks the cluster for every scrape; one that fails is told as ``rocketmq_exporter_up`` 0."""

    call: Call

    def describe(self) -> "list[GaugeMetricFamily]":
        """Return nothing: what there is shows only when the cluster is asked."""
        return []

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        """Yield every metric of the cluster."""
        from prometheus_client.core import GaugeMetricFamily

        families, up = Families(), 1.0
        try:
            families = self.call.workplace.link.submit(_scrape(self.call)).result(SCRAPE_MAX_S)
        except Exception as error:
            up = 0.0
            self.call.warn(f"scrape failed: {describe(error).line}")
        yield GaugeMetricFamily("rocketmq_exporter_up", "1 where the last scrape worked", value=up)
        for family in families.made.values():
            made = GaugeMetricFamily(family.name, family.name, labels=family.labels)
            for labels, value in family.values.items():
                made.add_metric(list(labels), value)
            yield made


async def _scrape(call: Call) -> Families:
    return await Scrape(await call.admin(), call.now_ms).run()


def _rows(families: Families) -> Iterator[MetricRow]:
    for family in families.made.values():
        for labels, value in family.values.items():
            yield MetricRow(family.name, dict(zip(family.labels, labels, strict=True)), value)

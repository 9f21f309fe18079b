"""``exporter``: serve metrics to Prometheus and the health to probes, until Ctrl-C.

    GET /metrics  -->  mqadmin.health.scrape   -->  text
    GET /health   -->  mqadmin.health.checkup  -->  200 or 503, and what is wrong as JSON
    GET /health/brokers    the same without groups

Every request asks the cluster. Requests: see ``mqadmin.health.scrape`` and
``mqadmin.health.checkup_facts``.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.types import PORT
from mqadmin.errors import CommandError, Interrupted, Usage, describe
from mqadmin.health.checkup import (
    BROKER_CHECKS,
    Check,
    CheckupLimits,
    CheckupSeverity,
    checkup_exit_code,
)
from mqadmin.health.examination import examine
from mqadmin.health.metrics import Families
from mqadmin.health.scrape import Scrape

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client.core import GaugeMetricFamily


PORT_DEFAULT: Final = 5557
"""The port of rocketmq-exporter."""
SCRAPE_MAX_S: Final = 60.0
HEALTH_CHECKS: Final = {"/health": frozenset(Check), "/health/brokers": BROKER_CHECKS}
"""The checks behind each probe path."""


@dataclass(frozen=True, slots=True)
class MetricRow(Row):
    """One value of one metric."""

    metric: str
    labels: dict[str, str]
    value: float


@command(
    "exporter",
    examples=(
        ("mqadmin exporter", "http://127.0.0.1:5557/metrics and /health, until Ctrl-C"),
        ("mqadmin exporter --host 0.0.0.0 -p 9100", "on all interfaces"),
        ("mqadmin exporter --once -o json", "the same numbers as rows"),
    ),
    details="Names and labels are those of rocketmq-exporter, so its dashboards and alerts work. "
    "A dashboard for Grafana is in share/mqadmin/grafana-dashboard.json; `mqadmin --version` "
    "prints where share/ is. /health is for probes: it answers 200, or 503 if `doctor` finds an "
    "error or could not run a check; the body contains the findings. /health/brokers checks only "
    "the brokers and asks no consumer. The command needs prometheus-client: pip install "
    "'mqadmin[exporter]'.",
    rows=MetricRow,
)
@click.option(
    "--port", "-p", type=PORT, default=PORT_DEFAULT, help="port to listen on; 0 chooses a free one"
)
@click.option("--host", default="127.0.0.1", help="address to listen on")
@click.option("--once", is_flag=True, help="print one scrape and exit")
def exporter(call: Call, *, port: int, host: str, once: bool) -> Outcome:
    """Serve until Ctrl-C.

    Raises:
        CommandError: prometheus-client is not installed, or the port is taken.
    """
    if once:
        return Outcome(list(_rows(call.workplace.link.run_coroutine(partial(_scrape, call)))))
    if call.is_watched:
        raise Usage("exporter already repeats by itself", hint="omit --watch")
    # The first scrape shows at once that no server answers.
    call.workplace.link.run_coroutine(partial(_scrape, call))
    stop = _serve(call, host, port)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return Outcome((), exit_code=Interrupted.exit_code, format="name")
    finally:
        stop()
    return Outcome((), format="name")


def _serve(call: Call, host: str, port: int) -> Callable[[], None]:
    """Start the HTTP server and return a function that stops it."""
    try:
        # Only this command needs the extra.
        from prometheus_client import CollectorRegistry, make_wsgi_app
        from prometheus_client.exposition import ThreadingWSGIServer
    except ImportError:
        raise CommandError(
            "prometheus-client is not installed", hint="pip install 'mqadmin[exporter]'"
        ) from None
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    class Server(ThreadingWSGIServer):
        """A server whose socket fits the host."""

        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    class Quiet(WSGIRequestHandler):
        """A handler that writes no line for each request."""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Write nothing."""

    registry = CollectorRegistry()
    registry.register(ClusterCollector(call))
    try:
        server = make_server(host, port, _paths(call, make_wsgi_app(registry)), Server, Quiet)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}:{port}: {error}") from None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    call.warn(f"serving http://{host}:{server.server_port}/metrics and /health")

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


def _paths(call: Call, metrics: "WSGIApplication") -> "WSGIApplication":
    """Return an application that answers ``/health`` itself and passes the rest to ``metrics``."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        checks = HEALTH_CHECKS.get(environ["PATH_INFO"])
        if checks is None:
            return metrics(environ, start_response)
        status, body = _health(call, checks)
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    return answer


def _health(call: Call, checks: frozenset[Check]) -> tuple[HTTPStatus, bytes]:
    """Return 200, or 503 if there is an error or something is unknown, and the JSON."""
    answer: dict[str, Any]
    try:
        looked = examine(call, CheckupLimits(), checks)
        findings = call.workplace.link.submit(looked).result(SCRAPE_MAX_S).findings
        is_well = checkup_exit_code(findings, CheckupSeverity.ERROR) == 0
        answer = {"healthy": is_well, "findings": [asdict(finding) for finding in findings]}
    except Exception as error:
        is_well, answer = False, {"healthy": False, "error": describe(error).line}
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return status, json.dumps(answer, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True, eq=False)
class ClusterCollector:
    """Asks the cluster for every scrape; a failed one exports ``rocketmq_exporter_up`` 0."""

    call: Call

    def describe(self) -> "list[GaugeMetricFamily]":
        """Return nothing, because the metrics are only known when the cluster is asked."""
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
        yield GaugeMetricFamily("rocketmq_exporter_up", "1 if the last scrape succeeded", value=up)
        for family in families.made.values():
            made = GaugeMetricFamily(family.name, family.name, labels=family.labels)
            for labels, value in family.values.items():
                made.add_metric(list(labels), value)
            yield made


async def _scrape(call: Call) -> Families:
    return await Scrape(await call.admin(), call.now_ms).collect()


def _rows(families: Families) -> Iterator[MetricRow]:
    for family in families.made.values():
        for labels, value in family.values.items():
            yield MetricRow(family.name, dict(zip(family.labels, labels, strict=True)), value)

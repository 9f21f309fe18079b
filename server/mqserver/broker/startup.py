"""The command line of ``mqbroker``, and what it logs and prints about a broker that starts.

Rule: this module reads a broker and never changes it.

Source: broker/BrokerStartup.java.
"""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence

from mqserver.broker.config import BrokerConfig, broker_config, printed
from mqserver.broker.names import first_names
from mqserver.broker.state import Broker
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.program.entry_point import EntryPoint
from mqserver.runtime.program.event_loop import loop_name
from mqserver.runtime.program.kernels import kernels_in_use
from mqserver.runtime.program.process import Server
from storefmt.errors import StoreError

LOG = logging.getLogger(__name__)


def run(
    make: Callable[[BrokerConfig, Callable[[], None]], Server],
    argv: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    build: Callable[[], str] | None = None,
) -> int:
    """Run the broker that ``make`` builds until a signal comes; see ``EntryPoint.run``."""
    return EntryPoint(
        "mqbroker",
        "Runs a RocketMQ broker.",
        configure=broker_config,
        printed=printed,
        # Each broker gets a copy, because it changes its settings while it runs.
        make=lambda config, restart: make(copy.deepcopy(config), restart),
        bind=lambda config: (config.bind_address, config.listen_port),
        ready=ready_line,
        expected=(StoreError,),
        build=build,
    ).run(argv, environment)


def build_line() -> str:
    """Return the event loop and the kernels imported so far, for ``mqbroker --version``."""
    # A broker without a gRPC port does not load these two, and has their kernels all the same.
    import mqserver.proxy.http2.hpack
    import mqserver.proxy.protocol.protobuf  # noqa: F401

    return f"event loop: {loop_name()}, kernels: {kernels_in_use()}"


def log_opening(broker: Broker) -> None:
    """Log the kernels, what the recovery of the store found, and where its files do not agree."""
    LOG.info("kernels: %s", kernels_in_use())
    store = broker.store
    for note in store.recovery.notes:
        LOG.info("store: %s", note)
    for log_offset, size in store.recovery.damaged:
        LOG.warning("store: %d bytes at log offset %d are not a record", size, log_offset)
    for level, count in broker.delay.stranded().items():
        LOG.warning(
            "%d messages wait in delay level %d, which messageDelayLevel no longer has; "
            "they are delivered when it has it again", count, level,
        )  # fmt: skip
    stored = {topic for topic, _ in store.queues()}
    unknown = sorted(
        topic
        for topic in stored
        if broker.topics.get(topic) is None and not broker.topics.is_system(topic)
    )
    if unknown:
        # Java logs nothing in this case, not even when topics.json is missing.
        LOG.warning(
            "%d topics that have messages are missing from topics.json (%s); clients cannot find "
            "them until the file is restored or the topics are created again",
            len(unknown), first_names(unknown),
        )  # fmt: skip


def ready_line(config: BrokerConfig, port: int) -> str:
    """Return what is printed when the broker is ready; it begins like Java's line."""
    advertised = join_address(config.broker_ip1, port)
    line = f"The broker[{config.broker_name}, {advertised}] boot success. serializeType=JSON"
    if config.namesrv_addrs:
        line += f" and name server is {config.namesrv_addr}"
    return line

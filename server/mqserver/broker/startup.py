"""The command line of ``mqbroker``: read flags and files, then run a broker.

Rule: nothing is started before all settings were checked.

Source: broker/BrokerStartup.java.
"""

import asyncio
import copy
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqserver.broker.config import BrokerConfig, broker_config, printed
from mqserver.broker.names import first_names
from mqserver.broker.state import Broker
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.program.commandline import Printing, gather, read_flags
from mqserver.runtime.program.event_loop import loop_name
from mqserver.runtime.program.kernels import kernels_in_use
from mqserver.runtime.program.process import EXIT_OK, Server, print_settings, refuse_settings, serve
from mqserver.runtime.settings import SettingsError
from storefmt.errors import StoreError

LOG = logging.getLogger(__name__)

PROGRAM: Final = "mqbroker"


def run(
    make: Callable[[BrokerConfig, Callable[[], None]], Server],
    argv: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    build: Callable[[], str] | None = None,
) -> int:
    """Run the broker that ``make`` builds until a signal comes; return the exit code.

    Args:
        make: builds a broker in its event loop. It gets the configuration, and a function that
            stops this broker and builds another one with the same configuration.
        argv: the flags; None for those of the process.
        environment: the environment variables; None for those of the process.
        build: returns what ``--version`` prints after the version; None for nothing.
    """
    flags = read_flags(
        sys.argv[1:] if argv is None else argv,
        program=PROGRAM,
        about="Runs a RocketMQ broker.",
        build=build,
    )
    try:
        config = broker_config(gather(flags, os.environ if environment is None else environment))
    except SettingsError as error:
        return refuse_settings(PROGRAM, error)
    if flags.printing is not Printing.NOTHING:
        print_settings(printed(config, important_only=flags.printing is Printing.IMPORTANT))
        return EXIT_OK
    again = asyncio.Event()
    return serve(
        # Each broker gets a copy, because it changes its settings while it runs.
        lambda: make(copy.deepcopy(config), again.set),
        program=PROGRAM,
        log_format=flags.log_format,
        again=again,
        address=join_address(config.bind_address, config.listen_port),
        ready=lambda port: ready_line(config, port),
        expected=(StoreError,),
    )


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
        LOG.warning("store: %d bytes at log offset %d are no record", size, log_offset)
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
            "topics.json does not know %d topics that have messages (%s); nobody finds these until "
            "it is put back or the topics are made again",
            len(unknown), first_names(unknown),
        )  # fmt: skip


def ready_line(config: BrokerConfig, port: int) -> str:
    """Return the line that is printed when the broker is ready; it begins like Java's."""
    name, told = config.broker_name, join_address(config.broker_ip1, port)
    line = f"The broker[{name}, {told}] boot success. serializeType=JSON"
    if config.namesrv_addrs:
        line += f" and name server is {config.namesrv_addr}"
    return f"{line}, listening on {join_address(config.bind_address, port)}"

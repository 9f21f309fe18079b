"""The settings of one controller, under RocketMQ's own keys where it has them.

Rule: as in the other configurations, an attribute exists only if the controller uses it; other keys
of Java's controller are accepted with a warning.

Source: common/ControllerConfig.java (5.4.0).
"""

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.access.hostaddress import is_any_address, join_address, local_ip
from mqserver.runtime.javakeys import CONTROLLER_KEYS, controller_defaults
from mqserver.runtime.program.limits import IN_FLIGHT_SIZE_MIN, in_flight_size
from mqserver.runtime.tls import Tls, split_tls, tls_settings
from mqserver.runtime.typed_config import (
    RawSettings,
    SettingsError,
    Value,
    computed,
    format_settings,
    keys_of,
    setting,
)
from remoting.address import split_address
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

ETCD_SCHEMES: Final = {"etcd://": False, "etcds://": True}
"""Beginnings of ``controllerStore`` that name an etcd cluster, and whether it speaks TLS."""

CHANGEABLE: Final = frozenset({"notifyBrokerRoleChanged", "scanNotActiveBrokerInterval"})
"""Keys that UPDATE_CONTROLLER_CONFIG may change."""
FIXED: Final = frozenset({"configBlackList", "configStorePath", "rocketmqHome"})
"""Keys that Java's controller refuses to change."""


def _default_store_path() -> str:
    return str(Path.home() / "controller")


@dataclass(slots=True)
class ControllerConfig:
    """Settings of the controller and its network."""

    controller_listen_port: int = setting(9878, low=0, high=65535, important=True)
    """Extension: the port; 0 chooses a free one. (Java takes it from its DLedger peers.)"""
    bind_address: str = setting("0.0.0.0", important=True)
    """Extension: the interface to listen on."""
    controller_address: str = setting("", important=True)
    """Extension: the address under which brokers reach this controller, as ``host:port``; empty for
    the address of this machine."""
    controller_store: str = setting("file", important=True)
    """Extension: where the records of groups are: ``file`` (in ``controllerStorePath``, for one
    controller), or ``etcd://host:port,host:port/prefix`` for any number of controllers; ``etcds://``
    with TLS."""
    controller_store_path: str = computed(_default_store_path, important=True)
    """The directory of the records with ``controllerStore=file``."""
    scan_not_active_broker_interval: int = setting(200, low=10)
    """How often the controller looks for silent brokers, in ms. (Java: 5,000.)"""
    first_election_wait_ms: int = setting(2_000, low=0, high=2_500)
    """Extension: how long the first election of a group waits for further brokers, since the one
    with the longest log wins it."""
    notify_broker_role_changed: bool = setting(True)
    """Whether brokers are notified of a new master at once; otherwise they learn of it when they
    ask, every 5 s."""
    enable_elect_unclean_master: bool = setting(False)
    """Must be false: a master outside the in-sync set is only chosen by an operator."""
    controller_dleger_group: str = setting("controllers", key="controllerDLegerGroup")
    """A name that tools show."""
    allowed_addresses: str = setting("*")
    """Extension: patterns of addresses that may connect, separated by commas."""
    broker_addresses: str = setting("")
    """Extension: addresses besides this machine whose brokers may register; ``*`` admits all, as
    Java does."""
    admin_addresses: str = setting("")
    """Extension: addresses besides this machine that may choose masters, remove brokers and
    change settings."""
    tls: Tls = field(default_factory=Tls)
    connections_max: int = setting(4_096, low=1)
    """Extension: how many connections may be open; further ones are answered SYSTEM_BUSY and
    closed."""
    connections_per_address_max: int = setting(0, low=0)
    """Extension: how many connections of one address may be open, with the same answer; 0 for no
    limit."""
    in_flight_size_max: int = computed(in_flight_size, low=IN_FLIGHT_SIZE_MIN)
    """Extension: largest total of unfinished frames and unread answers of all connections, in
    bytes."""
    server_channel_max_idle_time_s: int = setting(120, key="serverChannelMaxIdleTimeSeconds", low=1)
    """The silence in seconds after which a connection is closed."""
    not_used: dict[str, str] = field(default_factory=dict)
    """The given settings of RocketMQ that have no effect here, with their text."""

    def address_for(self, port: int) -> str:
        """Return the address for brokers, where ``port`` is the port that was opened."""
        if self.controller_address:
            return self.controller_address
        ip = local_ip() if is_any_address(self.bind_address) else self.bind_address
        return join_address(ip, port)

    def etcd_cluster(self) -> tuple[list[str], str, bool] | None:
        """Return the servers, the prefix of the keys and whether to use TLS; None for a file."""
        for scheme, is_tls in ETCD_SCHEMES.items():
            if self.controller_store.startswith(scheme):
                servers, _, prefix = self.controller_store.removeprefix(scheme).partition("/")
                return servers.split(","), "/" + (prefix.strip("/") or "rocketmq"), is_tls
        return None

    def all_settings(self) -> dict[str, str]:
        """Return every key of 5.4.0 and of our own with its value; none of them is a secret."""
        own = {
            "configStorePath": str(Path.home() / "controller" / "controller.properties"),
            "listenPort": str(self.controller_listen_port),
            "rocketmqHome": os.environ.get("ROCKETMQ_HOME", ""),
        }
        others = {**controller_defaults(), **own, **self.not_used}
        return dict(sorted({**others, **dict(format_settings(self))}.items()))


def controller_config(values: Iterable[Value]) -> ControllerConfig:
    """Return the configuration described by raw settings.

    Raises:
        SettingsError: some values cannot be used; the text has one line for each.
    """
    plain, tls = split_tls(values)
    settings = RawSettings(plain, known=keys_of(ControllerConfig).keys(), java_keys=CONTROLLER_KEYS)
    config = settings.build(ControllerConfig, tls=tls_settings(tls))
    for key in ("allowedAddresses", "brokerAddresses", "adminAddresses"):
        address_list(settings.text(key) or "", key=key)
    check_config(config)
    config.not_used = {value.key: value.text for value in settings.not_used}
    if settings.not_used:
        names = ", ".join(value.key for value in settings.not_used)
        LOG.warning("settings that RocketMQ has and that change nothing here: %s", names)
    return config


def check_config(config: ControllerConfig) -> None:
    """Check what the types of the settings do not.

    Raises:
        SettingsError: some values cannot be used; the text has one line for each.
    """
    problems = []
    if config.enable_elect_unclean_master:
        problems.append(
            "enableElectUncleanMaster=true would lose acknowledged messages without asking; "
            "remove it, and choose a master with mqadmin controller elect --unclean when needed"
        )
    cluster = config.etcd_cluster()
    if cluster is None and config.controller_store != "file":
        problems.append(
            f"controllerStore={config.controller_store}: expected file or "
            "etcd://host:port,host:port/prefix"
        )
    addresses = [] if cluster is None else cluster[0]
    if config.controller_address:
        addresses = [*addresses, config.controller_address]
    for address in addresses:
        try:
            split_address(address)
        except BadCall as error:
            problems.append(f"{address!r} is not a host:port: {error}")
    if problems:
        raise SettingsError("\n".join(problems))

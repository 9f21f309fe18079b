"""The settings of one name server, under RocketMQ's own keys.

Rule: as in the broker's configuration, an attribute exists only if the server uses it; other
keys of Java's name server are accepted with a warning.

Source: common/namesrv/NamesrvConfig.java, remoting/netty/NettyServerConfig.java (4.9.7);
``enableControllerInNamesrv`` is a key of 5.4.0.
"""

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mqserver.controller.controller_config import ControllerConfig, check_config
from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.javakeys import CONTROLLER_KEYS, NAMESRV_KEYS, namesrv_defaults
from mqserver.runtime.program.limits import IN_FLIGHT_SIZE_MIN, in_flight_size
from mqserver.runtime.tls import Tls, split_tls, tls_settings
from mqserver.runtime.typed_config import (
    RawSettings,
    Value,
    computed,
    format_settings,
    keys_of,
    setting,
)

LOG = logging.getLogger(__name__)

CHANGEABLE: Final = frozenset({"orderMessageEnable"})
"""Keys that UPDATE_NAMESRV_CONFIG may change; paths are never among them."""


def _default_config_store_path() -> str:
    return str(Path.home() / "namesrv" / "namesrv.properties")


def _default_kv_config_path() -> str:
    return str(Path.home() / "namesrv" / "kvConfig.json")


@dataclass(slots=True)
class NamesrvConfig:
    """Settings of the name server and its network."""

    listen_port: int = setting(9876, low=0, high=65535, important=True)
    """The port; 0 chooses a free one."""
    bind_address: str = setting("0.0.0.0", important=True)
    """Extension: the interface to listen on; Java 4.9 always listens on all interfaces."""
    kv_config_path: str = computed(_default_kv_config_path, important=True)
    """The file that keeps the key values, such as the order configuration of topics."""
    config_store_path: str = computed(_default_config_store_path)
    """The ``-c`` file if there is one. The server never writes this file; Java writes its settings
    to it when one is changed."""
    order_message_enable: bool = setting(False)
    """Whether a route contains the order configuration of its topic."""
    allowed_addresses: str = setting("*")
    """Extension: patterns of addresses that may connect, separated by commas."""
    broker_addresses: str = setting("")
    """Extension: addresses besides this machine that may register a broker; ``*`` admits every
    broker, as Java does."""
    registered_broker_count_max: int = setting(256, low=1)
    """Extension: most brokers that one address may register."""
    registered_topic_count_max: int = setting(500_000, low=1)
    """Extension: most topics that the brokers of one address may have together."""
    registered_size_max: int = setting(128 << 20, low=1 << 20)
    """Extension: most bytes that the registrations of one address may take."""
    enable_controller_in_namesrv: bool = setting(False)
    """Whether a controller runs in this process; its settings are in the same file."""
    controller: ControllerConfig | None = None
    """The settings of that controller; None without one."""
    admin_addresses: str = setting("")
    """Extension: addresses besides this machine that may change key values, permissions and
    settings."""
    tls: Tls = field(default_factory=Tls)
    connections_max: int = setting(65_536, low=1)
    """Extension: most open connections; further ones are answered SYSTEM_BUSY and closed."""
    connections_per_address_max: int = setting(0, low=0)
    """Extension: most open connections of one address, with the same answer; 0 for no limit."""
    in_flight_size_max: int = computed(in_flight_size, low=IN_FLIGHT_SIZE_MIN)
    """Extension: most bytes of unfinished frames and unread answers of all connections. The
    default is a quarter of the memory."""
    server_channel_max_idle_time_s: int = setting(120, key="serverChannelMaxIdleTimeSeconds", low=1)
    """The silence in seconds after which a connection is closed."""
    not_used: dict[str, str] = field(default_factory=dict)
    """Given settings that RocketMQ has and that have no effect here, with their text."""

    def all_settings(self) -> dict[str, str]:
        """Return every key of 4.9.7 and of our own with its value; none of them is a secret."""
        home = os.environ.get("ROCKETMQ_HOME", "")
        others = {**namesrv_defaults(), "rocketmqHome": home, **self.not_used}
        return dict(sorted({**others, **dict(format_settings(self))}.items()))


def namesrv_config(values: Iterable[Value]) -> NamesrvConfig:
    """Return the configuration described by raw settings.

    Raises:
        SettingsError: some values cannot be used; the text has one line for each.
    """
    plain, tls = split_tls(values)
    settings = RawSettings(
        plain,
        known=keys_of(NamesrvConfig).keys() | keys_of(ControllerConfig).keys(),
        java_keys=[*NAMESRV_KEYS, *CONTROLLER_KEYS],
    )
    config = settings.build(NamesrvConfig, tls=tls_settings(tls))
    if config.enable_controller_in_namesrv:
        config.controller = settings.build(ControllerConfig, tls=config.tls)
        check_config(config.controller)
    for key in ("allowedAddresses", "brokerAddresses", "adminAddresses"):
        address_list(settings.text(key) or "", key=key)
    config.not_used = {value.key: value.text for value in settings.not_used}
    if settings.not_used:
        names = ", ".join(value.key for value in settings.not_used)
        LOG.warning("settings that RocketMQ has and that change nothing here: %s", names)
    return config

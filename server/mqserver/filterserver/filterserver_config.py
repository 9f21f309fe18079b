"""The settings of one filter server, under the keys of RocketMQ 4.2 if they existed there.

Source: filtersrv/FiltersrvConfig.java (4.2), remoting/netty/NettyServerConfig.java.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mqserver.runtime.access.hostaddress import is_any_address, local_ip
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

HIDDEN = "******"


@dataclass(slots=True)
class FilterServerConfig:
    """Settings of the filter server and its network; sizes in bytes."""

    connect_which_broker: str = setting("127.0.0.1:10911", important=True)
    """The broker whose messages are filtered."""
    filter_server_ip: str = computed(local_ip, key="filterServerIP", important=True)
    """The address that consumers get from the routes."""
    bind_address: str = setting("0.0.0.0", important=True)
    listen_port: int = setting(0, low=0, high=65535, important=True)
    """The port; 0 chooses a free one."""
    access_key: str | None = setting(None)
    secret_key: str | None = setting(None)
    """Keys of an administrator, if the broker has access control; they sign the registration."""
    filter_module_size_max: int = setting(256 << 10, low=1)
    filter_count_max: int = setting(256, low=1)
    filter_fuel: int = setting(2_000_000, low=1)
    """Fuel for one message; an instruction takes about one unit."""
    filter_memory_size: int = setting(16 << 20, low=1 << 16, high=1 << 30)
    filter_compile_cpu_seconds: int = setting(3, low=1)
    """CPU time that compiling one module may take, in a separate process."""
    filter_compile_memory_size: int = setting(512 << 20, low=64 << 20)
    """Address space of that process in bytes."""
    filter_compile_timeout_millis: int = setting(10_000, low=1)
    tls: Tls = field(default_factory=Tls)


def filter_server_config(values: Iterable[Value]) -> FilterServerConfig:
    """Return the configuration described by raw settings.

    Raises:
        SettingsError: some values cannot be used; the text has one line for each.
    """
    plain, tls = split_tls(values)
    settings = RawSettings(plain, known=keys_of(FilterServerConfig).keys())
    config = settings.build(FilterServerConfig, tls=tls_settings(tls))
    if not is_any_address(config.bind_address):
        config.filter_server_ip = settings.text("filterServerIP") or config.bind_address
    host, _, port = config.connect_which_broker.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingsError(
            f"connectWhichBroker is {config.connect_which_broker!r}, expected host:port"
        )
    if (config.access_key is None) != (config.secret_key is None):
        raise SettingsError("accessKey and secretKey go together: give both or none")
    return config


def printed(config: FilterServerConfig, *, important_only: bool) -> list[tuple[str, str]]:
    """Return key and text of every setting, with the secret key hidden."""
    return [
        (key, HIDDEN if key == "secretKey" and text else text)
        for key, text in format_settings(config, important_only=important_only)
    ]

"""The settings of one filter server, under the keys of 4.2 where it had them.

Source: filtersrv/FiltersrvConfig.java (4.2), remoting/netty/NettyServerConfig.java.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from server.runtime.hostaddress import is_any_address, local_ip
from server.runtime.settings import (
    Settings,
    SettingsError,
    Value,
    computed,
    format_settings,
    keys_of,
    setting,
)
from server.runtime.tls import Tls, split_tls, tls_settings

HIDDEN = "******"


@dataclass(slots=True)
class FilterServerConfig:
    """Settings of the filter server and its network; sizes in bytes."""

    connect_which_broker: str = setting("127.0.0.1:10911", important=True)
    """The broker whose messages are filtered."""
    filter_server_ip: str = computed(local_ip, key="filterServerIP", important=True)
    """The address consumers are told."""
    bind_address: str = setting("0.0.0.0", important=True)
    listen_port: int = setting(0, low=0, high=65535, important=True)
    """0 takes a free port."""
    access_key: str | None = setting(None)
    secret_key: str | None = setting(None)
    """Of an admin, where the broker has access control: only the registration is signed."""
    filter_module_size_max: int = setting(256 << 10, low=1)
    filter_count_max: int = setting(256, low=1)
    filter_fuel: int = setting(2_000_000, low=1)
    """Instructions that a module may use for one message."""
    filter_memory_size: int = setting(16 << 20, low=1 << 16, high=1 << 30)
    filter_compile_cpu_seconds: int = setting(3, low=1)
    """CPU time that compiling one module may take, in a process of its own."""
    filter_compile_memory_size: int = setting(512 << 20, low=64 << 20)
    """Address space of that process."""
    filter_compile_timeout_millis: int = setting(10_000, low=1)
    tls: Tls = field(default_factory=Tls)


def filter_server_config(values: Iterable[Value]) -> FilterServerConfig:
    """Return the configuration that raw settings describe.

    Raises:
        SettingsError: a value that cannot be used, a line for each.
    """
    plain, tls = split_tls(values)
    settings = Settings(plain, known=keys_of(FilterServerConfig).keys())
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
    """Return key and text of every setting, the secret key hidden."""
    return [
        (key, HIDDEN if key == "secretKey" and text else text)
        for key, text in format_settings(config, important_only=important_only)
    ]

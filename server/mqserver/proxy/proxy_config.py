"""The settings of the gRPC endpoint, under the names that the proxy of 5.4.0 gives them.

A broker that serves gRPC itself sets the port alone (``grpcServerPort`` in broker.conf); the
others are for ``mqproxy``.

Source: proxy/config/ProxyConfig.java (5.4.0).
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mqserver.runtime.tls import Tls, split_tls, tls_settings
from mqserver.runtime.typed_config import RawSettings, SettingsError, Value, keys_of, setting

DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000


@dataclass(slots=True)
class ProxyConfig:
    """The settings of a gRPC endpoint; times are ms unless the key names another unit."""

    grpc_server_port: int = setting(8081, low=0, high=65535, important=True)
    bind_address: str = setting("0.0.0.0", important=True)
    namesrv_addr: str | None = setting(None, important=True)
    acl_enable: bool = setting(False, important=True)
    authentication_enabled: bool = setting(False, important=True)
    authorization_enabled: bool = setting(False, important=True)
    authorization_whitelist: str = setting("")
    inner_client_authentication_credentials: str = setting("", secret=True)
    user_cache_refresh_s: int = setting(5, key="userCacheRefreshSecond", low=1)
    """Seconds between two fetches of users and rules from a broker; 60 in 5.4.0."""
    user_cache_expired_s: int = setting(60, key="userCacheExpiredSecond", low=1)
    """Seconds that they are used while no broker answers; 600 in 5.4.0."""
    rocketmq_home: Path | None = None
    enable_topic_message_type_check: bool = setting(True)
    enable_message_body_empty_check: bool = setting(True)
    max_message_size: int = setting(4 << 20, low=0)
    """The largest body, in bytes; 0 lets the broker decide."""
    grpc_max_inbound_message_size: int = setting(16 << 20, low=1)
    """Bytes of one request. Java's default is 130 MiB, but a broker takes frames of 16 MiB."""
    max_user_property_size: int = setting(16384, low=0)
    user_property_max_num: int = setting(128, low=0)
    max_message_group_size: int = setting(64, low=0)
    default_invisible_time_ms: int = setting(60_000, key="defaultInvisibleTimeMills", low=1)
    min_invisible_time_ms: int = setting(10_000, key="minInvisibleTimeMillsForRecv", low=0)
    max_invisible_time_ms: int = setting(12 * HOUR_MS, key="maxInvisibleTimeMills", low=0)
    max_delay_time_ms: int = setting(DAY_MS, key="maxDelayTimeMills", low=0)
    max_transaction_recovery_s: int = setting(3600, key="maxTransactionRecoverySecond", low=0)
    producer_max_attempts: int = setting(3, key="grpcClientProducerMaxAttempts", low=1)
    producer_backoff_initial_ms: int = setting(
        10, key="grpcClientProducerBackoffInitialMillis", low=0
    )
    producer_backoff_max_ms: int = setting(1000, key="grpcClientProducerBackoffMaxMillis", low=0)
    producer_backoff_multiplier: int = setting(2, key="grpcClientProducerBackoffMultiplier", low=1)
    min_long_polling_ms: int = setting(
        5_000, key="grpcClientConsumerMinLongPollingTimeoutMillis", low=0
    )
    max_long_polling_ms: int = setting(
        20_000, key="grpcClientConsumerMaxLongPollingTimeoutMillis", low=0
    )
    long_polling_batch_size: int = setting(
        32, key="grpcClientConsumerLongPollingBatchSize", low=1, high=32
    )
    client_idle_ms: int = setting(120_000, key="grpcClientIdleTimeMills", low=1_000)
    relay_timeout_s: int = setting(5, key="grpcProxyRelayRequestTimeoutInSeconds", low=1)
    use_endpoint_port_from_request: bool = setting(False)
    enable_proxy_auto_renew: bool = setting(True)
    max_renew_retry_times: int = setting(3, low=1)
    renew_ahead_ms: int = setting(10_000, key="renewAheadTimeMillis", low=1)
    renew_max_ms: int = setting(3 * HOUR_MS, key="renewMaxTimeMillis", low=1)
    renew_period_ms: int = setting(5_000, key="renewSchedulePeriodMillis", low=1)
    invisible_time_when_clear_ms: int = setting(1_000, key="invisibleTimeMillisWhenClear", low=0)
    transaction_data_expire_ms: int = setting(30_000, key="transactionDataExpireMillis", low=1)
    transaction_data_max_num: int = setting(15, low=1)
    connections_per_address_max: int = setting(0, low=0)
    """Extension: most connections of one address; 0 for no such limit."""
    heartbeat_period_ms: int = setting(20_000, low=1_000)
    """Extension: how often the proxy names its clients to the brokers."""
    tls: Tls = field(default_factory=Tls)


def proxy_config(values: Iterable[Value]) -> ProxyConfig:
    """Return the settings of ``mqproxy``.

    Raises:
        SettingsError: a key or a value cannot be used.
    """
    plain, of_tls = split_tls(values)
    settings = RawSettings(plain, known=set(keys_of(ProxyConfig)))
    home = os.environ.get("ROCKETMQ_HOME")
    config = settings.build(ProxyConfig, tls=tls_settings(of_tls))
    if config.rocketmq_home is None and home:
        config.rocketmq_home = Path(home)
    if not config.namesrv_addr:
        raise SettingsError("namesrvAddr is missing; give it with -n host:port")
    if config.acl_enable and config.rocketmq_home is None:
        raise SettingsError(
            "aclEnable is true, and neither rocketmqHome nor ROCKETMQ_HOME says where conf is"
        )
    for fault in _auth_faults(config):
        raise SettingsError(fault)
    return config


def _auth_faults(config: ProxyConfig) -> Iterator[str]:
    """Yield an error for each setting of ACL 2.0 that cannot be used."""
    if config.authorization_enabled and not config.authentication_enabled:
        yield (
            "authorizationEnabled is true and authenticationEnabled is not: without signatures "
            "anybody could name any user"
        )
    if not config.authentication_enabled:
        return
    if config.acl_enable:
        yield "aclEnable and authenticationEnabled are both true: choose one kind of accounts"
    if not config.inner_client_authentication_credentials:
        yield (
            "authenticationEnabled is true, and no innerClientAuthenticationCredentials says who "
            "asks brokers for their users"
        )

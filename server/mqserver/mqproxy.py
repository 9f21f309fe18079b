"""``mqproxy``: the gRPC endpoint of RocketMQ 5 as a process of its own, in front of any cluster.

    mqproxy -n 127.0.0.1:9876     serves gRPC clients on port 8081
    mqproxy -c proxy.conf         with the settings of ``mqserver.proxy.proxy_config``

The brokers may be ours or the real ones. Clients can consume from brokers that know POP: ours, and
those of 5.x.

Source: proxy/ProxyStartup.java (5.4.0).
"""

import sys
from typing import Final

from mqserver.proxy.context import Credentials
from mqserver.proxy.endpoint import Endpoint
from mqserver.proxy.proxy_config import ProxyConfig, proxy_config
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.program.entry_point import EntryPoint
from storefmt.errors import StoreError


def endpoint_of(config: ProxyConfig, clock: Clock) -> Endpoint:
    """Return the endpoint of ``mqproxy``.

    With aclEnable it reads the accounts of conf/plain_acl.yml; with authenticationEnabled it
    fetches the users and rules of the brokers.

    Raises:
        ConfigDamaged: the accounts, or the keys that fetch users, cannot be read.
    """
    if config.authentication_enabled:
        return _with_users(config, clock)
    accounts = None
    if config.acl_enable and config.rocketmq_home is not None:
        from mqserver.broker.acl.acl_files import AclFiles
        from mqserver.broker.acl.live_accounts import LiveAccounts

        accounts = LiveAccounts(AclFiles(config.rocketmq_home))
    return Endpoint(
        config,
        clock,
        broker_tls=config.tls.client,
        secret_of=None if accounts is None else accounts.secret_of,
        reload_accounts=None if accounts is None else accounts.reload,
    )


def _with_users(config: ProxyConfig, clock: Clock) -> Endpoint:
    """Return an endpoint that checks calls by the users and rules of the brokers."""
    from mqserver.broker.acl.fetched_users import FetchedUsers
    from mqserver.broker.acl.first_users import codes_in, inner_keys
    from mqserver.broker.acl.user_access import UserSettings
    from mqserver.proxy.user_source import UserSource

    # The settings require both.
    pair = inner_keys(config.inner_client_authentication_credentials) or ("", "")
    keys, checks_rules = Credentials(*pair), config.authorization_enabled
    source = UserSource(
        config.namesrv_addr or "",
        keys,
        with_rules=checks_rules,
        tls=config.tls.client,
        now_ms=clock.now_ms,
    )
    settings = UserSettings(
        "", checks_rules=checks_rules, open_codes=codes_in(config.authorization_whitelist)
    )
    users = FetchedUsers(
        source.fetch,
        settings,
        age_ms_max=config.user_cache_expired_s * 1000,
        steady_ms=clock.steady_ms,
    )
    return Endpoint(
        config,
        clock,
        broker_tls=config.tls.client,
        secret_of=users.secret_of,
        authorize=users.check,
        own=keys,
        reload_accounts=users.refresh,
        reload_ms=config.user_cache_refresh_s * 1000,
    )


MAIN: Final = EntryPoint(
    "mqproxy",
    "Serves gRPC clients of RocketMQ 5 in front of brokers.",
    configure=proxy_config,
    make=lambda config, restart: endpoint_of(config, SystemClock()),
    bind=lambda config: (config.bind_address, config.grpc_server_port),
    ready=lambda config, port: f"The proxy boot success. name server is {config.namesrv_addr}",
    expected=(StoreError,),
)
main = MAIN.run


if __name__ == "__main__":
    sys.exit(main())

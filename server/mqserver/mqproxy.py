"""``mqproxy``: the gRPC endpoint of RocketMQ 5 as a process of its own, in front of any cluster.

    mqproxy -n 127.0.0.1:9876     serves gRPC clients on port 8081
    mqproxy -c proxy.conf         with the settings of ``mqserver.proxy.proxy_config``

The brokers may be ours or the real ones. Clients can consume from brokers that know POP: ours, and
those of 5.x.

Source: proxy/ProxyStartup.java (5.4.0).
"""

import sys
from typing import Final

from mqserver.proxy.endpoint import Endpoint
from mqserver.proxy.proxy_config import ProxyConfig, proxy_config
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.program.entry_point import EntryPoint
from storefmt.errors import StoreError


def _endpoint(config: ProxyConfig) -> Endpoint:
    """Return the endpoint, which reads the accounts of conf/plain_acl.yml if aclEnable is set."""
    accounts = None
    if config.acl_enable and config.rocketmq_home is not None:
        from mqserver.broker.acl.acl_files import AclFiles
        from mqserver.broker.acl.live_accounts import LiveAccounts

        accounts = LiveAccounts(AclFiles(config.rocketmq_home))
    return Endpoint(
        config,
        SystemClock(),
        broker_tls=config.tls.client,
        secret_of=None if accounts is None else accounts.secret_of,
        reload_accounts=None if accounts is None else accounts.reload,
    )


MAIN: Final = EntryPoint(
    "mqproxy",
    "Serves gRPC clients of RocketMQ 5 in front of brokers.",
    configure=proxy_config,
    make=lambda config, restart: _endpoint(config),
    bind=lambda config: (config.bind_address, config.grpc_server_port),
    ready=lambda config, port: f"The proxy boot success. name server is {config.namesrv_addr}",
    expected=(StoreError,),
)
main = MAIN.run


if __name__ == "__main__":
    sys.exit(main())

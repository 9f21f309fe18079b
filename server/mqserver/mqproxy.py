"""``mqproxy``: the gRPC endpoint of RocketMQ 5 as a process of its own, in front of any cluster.

    mqproxy -n 127.0.0.1:9876                 serves gRPC clients on port 8081
    mqproxy -c proxy.conf                     with the settings of server/mqserver/proxy/config.py

The brokers may be ours or the real ones. Clients can consume from brokers that know POP: ours, and
those of 5.x.

Source: proxy/ProxyStartup.java (5.4.0).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from mqserver.proxy.config import ProxyConfig, proxy_config
from mqserver.proxy.endpoint import Endpoint
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.program.commandline import Printing, gather, read_flags
from mqserver.runtime.program.process import EXIT_OK, print_settings, refuse_settings, serve
from mqserver.runtime.settings import SettingsError, format_settings
from storefmt.errors import StoreError

PROGRAM: Final = "mqproxy"


def main(argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run ``mqproxy`` until a signal arrives, and return its exit code."""
    flags = read_flags(
        sys.argv[1:] if argv is None else argv,
        program=PROGRAM,
        about="Serves gRPC clients of RocketMQ 5 in front of brokers.",
    )
    try:
        config = proxy_config(gather(flags, os.environ if environment is None else environment))
    except SettingsError as error:
        return refuse_settings(PROGRAM, error)
    if flags.printing is not Printing.NOTHING:
        important_only = flags.printing is Printing.IMPORTANT
        print_settings(format_settings(config, important_only=important_only))
        return EXIT_OK
    return serve(
        lambda: _endpoint(config),
        program=PROGRAM,
        log_format=flags.log_format,
        address=join_address(config.bind_address, config.grpc_server_port),
        ready=lambda port: (
            f"The proxy boot success. name server is {config.namesrv_addr}, listening on "
            + join_address(config.bind_address, port)
        ),
        expected=(StoreError,),
    )


def _endpoint(config: ProxyConfig) -> Endpoint:
    """Return the endpoint, which reads the accounts of conf/plain_acl.yml if aclEnable is set."""
    accounts = None
    if config.acl_enable and config.rocketmq_home is not None:
        from mqserver.broker.acl.files import AclFiles
        from mqserver.broker.acl.live_accounts import LiveAccounts

        accounts = LiveAccounts(AclFiles(config.rocketmq_home))
    return Endpoint(
        config,
        SystemClock(),
        broker_tls=config.tls.client,
        secret_of=None if accounts is None else accounts.secret_of,
        reload_accounts=None if accounts is None else accounts.reload,
    )


if __name__ == "__main__":
    sys.exit(main())

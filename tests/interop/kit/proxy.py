"""The proxy of the real RocketMQ 5.4.0: a gRPC endpoint, with the broker in the same process.

    clients of 5.x  --gRPC-->  proxy and broker  --remoting-->  name server

Rule: the broker reads the settings that brokers of tests get, see ``tests.interop.kit.servers``,
and listens for remoting, too, so that topics and groups are made there.

Source: proxy/ProxyStartup.java, proxy/config/ProxyConfig.java (RocketMQ 5.4.0).
"""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.interop.kit.process import Child
from tests.interop.kit.servers import JavaSide, Program, broker_settings, write_properties
from tests.ports import free_ports


class Proxy(Program):
    """A running proxy in local mode.

    Args:
        side: 5.4.0.
        store: storePathRootDir of its broker; made when missing.
        namesrv: address of the name server.
        settings: broker.conf keys that differ from the test defaults.
    """

    ready = "startup success"

    def __init__(
        self, side: JavaSide, *, store: Path, namesrv: str, settings: Mapping[str, str]
    ) -> None:
        broker, grpc, remoting = free_ports(4) + 2, free_ports(1), free_ports(1)
        self.broker_address = f"127.0.0.1:{broker}"
        self.address = f"127.0.0.1:{grpc}"
        conf = side.directory / f"proxy-broker-{broker}.conf"
        of_broker = broker_settings(store, port=broker, namesrv=namesrv, settings=settings)
        write_properties(conf, of_broker)
        own = side.directory / f"proxy-{grpc}.json"
        of_proxy = {
            "rocketMQClusterName": of_broker["brokerClusterName"],
            "namesrvAddr": namesrv,
            "grpcServerPort": grpc,
            "remotingListenPort": remoting,
        }
        own.write_text(json.dumps(of_proxy))
        words = ("-pm", "local", "-n", namesrv, "-bc", str(conf), "-pc", str(own))
        self._child = Child(
            side.java("org.apache.rocketmq.proxy.ProxyStartup", *words, heap="1g"),
            log=side.logs / "proxy.err",
            directory=side.directory,
        )

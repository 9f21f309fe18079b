"""The RocketMQ client: producers, consumers and admin calls, in asyncio or blocking.

    from mqclient import Message, MQClient, Producer

    async with MQClient("127.0.0.1:9876") as client, Producer(client) as producer:
        await producer.send(Message("orders", b"first"))

An application imports every public name from here and calls it; messages and requests leave to the
brokers and name servers, and results, typed bodies or a ``ClientError`` come back. Start reading
with ``client/`` (connections), then ``producer/`` and ``consumer/``; ``admin/`` has the calls of
operators, ``blocking/`` the same classes without asyncio, ``trace/`` message traces.

Rule: each name is loaded when it is first used, so that a command that sends one message does not
load every consumer.
"""

from typing import TYPE_CHECKING, Final

from remoting.lazy import on_demand

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from mqclient.blocking.admin import BlockingAdmin
    from mqclient.blocking.client import (
        BlockingClient,
        BlockingLitePullConsumer,
        BlockingProducer,
        BlockingPullConsumer,
        BlockingPushConsumer,
        BlockingSimpleConsumer,
        BlockingTransactionProducer,
    )
    from mqclient.client.client_settings import ClientSettings
    from mqclient.client.instance import MQClient
    from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings, Strategy
    from mqclient.consumer.listener.listeners import (
        ConsumeConcurrentlyContext,
        ConsumeConcurrentlyStatus,
        ConsumeOrderlyContext,
        ConsumeOrderlyStatus,
    )
    from mqclient.consumer.listener.router import NoHandler, Router
    from mqclient.consumer.lite_pull_consumer import LitePullConsumer
    from mqclient.consumer.pull.pull_request import PullResult, PullStatus
    from mqclient.consumer.pull_consumer import PullConsumer
    from mqclient.consumer.push_consumer import PushConsumer
    from mqclient.consumer.simple_consumer import SimpleConsumer
    from mqclient.consumer.state.consume_hooks import ConsumeEvent, ConsumeHook, ConsumeReturnType
    from mqclient.consumer.subscription import MessageSelector
    from mqclient.errors import (
        BadAnswer,
        BadRequest,
        BrokerRefused,
        ClientError,
        NoRoute,
        NotFound,
        TimedOut,
        UnexpectedBody,
        Unreachable,
    )
    from mqclient.json_body import from_json, to_json
    from mqclient.message import Message, MessageExt
    from mqclient.producer.producer import Producer
    from mqclient.producer.producer_settings import ProducerSettings
    from mqclient.producer.send_hooks import (
        EndTransactionEvent,
        EndTransactionHook,
        SendEvent,
        SendHook,
    )
    from mqclient.producer.send_result import SendResult, SendStatus
    from mqclient.producer.transaction_producer import (
        LocalTransactionState,
        TransactionListener,
        TransactionProducer,
        TransactionSendResult,
    )
    from mqclient.trace.message_trace import MessageTrace

    # This one is not in ``__all__``: it needs an extra, and ``import *`` must not.
    from mqclient.trace.open_telemetry import OpenTelemetryTrace as OpenTelemetryTrace
    from remoting.aio.tls import ClientTls
    from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue
    from storefmt.formats.sysflag import Compression

__all__ = [
    "Admin",
    "BadAnswer",
    "BadRequest",
    "BlockingAdmin",
    "BlockingClient",
    "BlockingLitePullConsumer",
    "BlockingProducer",
    "BlockingPullConsumer",
    "BlockingPushConsumer",
    "BlockingSimpleConsumer",
    "BlockingTransactionProducer",
    "BrokerRefused",
    "ClientError",
    "ClientSettings",
    "ClientTls",
    "Compression",
    "ConsumeConcurrentlyContext",
    "ConsumeConcurrentlyStatus",
    "ConsumeEvent",
    "ConsumeFromWhere",
    "ConsumeHook",
    "ConsumeOrderlyContext",
    "ConsumeOrderlyStatus",
    "ConsumeReturnType",
    "EndTransactionEvent",
    "EndTransactionHook",
    "LitePullConsumer",
    "LitePullSettings",
    "LocalTransactionState",
    "MQClient",
    "Message",
    "MessageExt",
    "MessageModel",
    "MessageQueue",
    "MessageSelector",
    "MessageTrace",
    "NoHandler",
    "NoRoute",
    "NotFound",
    "Producer",
    "ProducerSettings",
    "PullConsumer",
    "PullResult",
    "PullStatus",
    "PushConsumer",
    "PushSettings",
    "Router",
    "SendEvent",
    "SendHook",
    "SendResult",
    "SendStatus",
    "SimpleConsumer",
    "Strategy",
    "TimedOut",
    "TransactionListener",
    "TransactionProducer",
    "TransactionSendResult",
    "UnexpectedBody",
    "Unreachable",
    "from_json",
    "to_json",
]

_PLACES: Final = {
    "mqclient.admin.admin": "Admin",
    "mqclient.blocking.admin": "BlockingAdmin",
    "mqclient.blocking.client": (
        "BlockingClient BlockingLitePullConsumer BlockingProducer BlockingPullConsumer "
        "BlockingPushConsumer BlockingSimpleConsumer BlockingTransactionProducer"
    ),
    "mqclient.client.instance": "MQClient",
    "mqclient.client.client_settings": "ClientSettings",
    "mqclient.consumer.listener.listeners": (
        "ConsumeConcurrentlyContext ConsumeConcurrentlyStatus "
        "ConsumeOrderlyContext ConsumeOrderlyStatus"
    ),
    "mqclient.consumer.lite_pull_consumer": "LitePullConsumer",
    "mqclient.consumer.pull.pull_request": "PullResult PullStatus",
    "mqclient.consumer.pull_consumer": "PullConsumer",
    "mqclient.consumer.push_consumer": "PushConsumer",
    "mqclient.consumer.consumer_settings": "LitePullSettings PushSettings Strategy",
    "mqclient.consumer.simple_consumer": "SimpleConsumer",
    "mqclient.consumer.state.consume_hooks": "ConsumeEvent ConsumeHook ConsumeReturnType",
    "mqclient.consumer.subscription": "MessageSelector",
    "mqclient.errors": (
        "BadAnswer BadRequest BrokerRefused ClientError NoRoute NotFound TimedOut UnexpectedBody "
        "Unreachable"
    ),
    "mqclient.message": "Message MessageExt",
    "mqclient.producer.send_hooks": "EndTransactionEvent EndTransactionHook SendEvent SendHook",
    "mqclient.producer.producer": "Producer",
    "mqclient.producer.send_result": "SendResult SendStatus",
    "mqclient.producer.producer_settings": "ProducerSettings",
    "mqclient.producer.transaction_producer": (
        "LocalTransactionState TransactionListener TransactionProducer TransactionSendResult"
    ),
    "mqclient.json_body": "from_json to_json",
    "mqclient.consumer.listener.router": "NoHandler Router",
    "mqclient.trace.message_trace": "MessageTrace",
    "mqclient.trace.open_telemetry": "OpenTelemetryTrace",
    "remoting.aio.tls": "ClientTls",
    "remoting.bodies": "ConsumeFromWhere MessageModel MessageQueue",
    "storefmt.formats.sysflag": "Compression",
}
"""The public names that each module has."""

__getattr__ = on_demand(__name__, _PLACES)

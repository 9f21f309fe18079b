"""The RocketMQ client: producers, consumers and admin calls, in asyncio or blocking.

    from mqclient import Message, MQClient, Producer

    async with MQClient("127.0.0.1:9876") as client, Producer(client) as producer:
        await producer.send(Message("orders", b"first"))

Rule: the names here are the public ones. Each is loaded when it is first asked for, so that a
command that sends one message does not load every consumer.
"""

from typing import TYPE_CHECKING, Final

from remoting.lazy import on_demand

if TYPE_CHECKING:
    from mqclient.admin import Admin
    from mqclient.allocate import Strategy
    from mqclient.blocking import BlockingClient
    from mqclient.blockingadmin import BlockingAdmin
    from mqclient.blockingfaces import (
        BlockingLitePullConsumer,
        BlockingProducer,
        BlockingPullConsumer,
        BlockingPushConsumer,
        BlockingTransactionProducer,
    )
    from mqclient.clientsettings import ClientSettings
    from mqclient.errors import (
        BadAnswer,
        BadRequest,
        BrokerRefused,
        ClientError,
        NoRoute,
        NotFound,
        TimedOut,
        Unreachable,
    )
    from mqclient.instance import MQClient
    from mqclient.listeners import (
        ConsumeConcurrentlyContext,
        ConsumeConcurrentlyStatus,
        ConsumeOrderlyContext,
        ConsumeOrderlyStatus,
    )
    from mqclient.litepull import LitePullConsumer
    from mqclient.litesettings import LitePullSettings
    from mqclient.message import Message, MessageExt
    from mqclient.producer import Producer
    from mqclient.producersettings import ProducerSettings
    from mqclient.pull import PullResult, PullStatus
    from mqclient.pullconsumer import PullConsumer
    from mqclient.pushconsumer import PushConsumer
    from mqclient.pushsettings import PushSettings
    from mqclient.sent import SendResult, SendStatus
    from mqclient.subscription import MessageSelector
    from mqclient.txproducer import (
        LocalTransactionState,
        TransactionListener,
        TransactionProducer,
        TransactionSendResult,
    )
    from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue

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
    "BlockingTransactionProducer",
    "BrokerRefused",
    "ClientError",
    "ClientSettings",
    "ConsumeConcurrentlyContext",
    "ConsumeConcurrentlyStatus",
    "ConsumeFromWhere",
    "ConsumeOrderlyContext",
    "ConsumeOrderlyStatus",
    "LitePullConsumer",
    "LitePullSettings",
    "LocalTransactionState",
    "MQClient",
    "Message",
    "MessageExt",
    "MessageModel",
    "MessageQueue",
    "MessageSelector",
    "NoRoute",
    "NotFound",
    "Producer",
    "ProducerSettings",
    "PullConsumer",
    "PullResult",
    "PullStatus",
    "PushConsumer",
    "PushSettings",
    "SendResult",
    "SendStatus",
    "Strategy",
    "TimedOut",
    "TransactionListener",
    "TransactionProducer",
    "TransactionSendResult",
    "Unreachable",
]

_PLACES: Final = {
    "mqclient.admin": "Admin",
    "mqclient.allocate": "Strategy",
    "mqclient.blocking": "BlockingClient",
    "mqclient.blockingadmin": "BlockingAdmin",
    "mqclient.blockingfaces": (
        "BlockingLitePullConsumer BlockingProducer BlockingPullConsumer BlockingPushConsumer "
        "BlockingTransactionProducer"
    ),
    "mqclient.clientsettings": "ClientSettings",
    "mqclient.errors": (
        "BadAnswer BadRequest BrokerRefused ClientError NoRoute NotFound TimedOut Unreachable"
    ),
    "mqclient.instance": "MQClient",
    "mqclient.listeners": (
        "ConsumeConcurrentlyContext ConsumeConcurrentlyStatus "
        "ConsumeOrderlyContext ConsumeOrderlyStatus"
    ),
    "mqclient.litepull": "LitePullConsumer",
    "mqclient.litesettings": "LitePullSettings",
    "mqclient.message": "Message MessageExt",
    "mqclient.producer": "Producer",
    "mqclient.producersettings": "ProducerSettings",
    "mqclient.pull": "PullResult PullStatus",
    "mqclient.pullconsumer": "PullConsumer",
    "mqclient.pushconsumer": "PushConsumer",
    "mqclient.pushsettings": "PushSettings",
    "mqclient.sent": "SendResult SendStatus",
    "mqclient.subscription": "MessageSelector",
    "mqclient.txproducer": (
        "LocalTransactionState TransactionListener TransactionProducer TransactionSendResult"
    ),
    "remoting.bodies": "ConsumeFromWhere MessageModel MessageQueue",
}
"""Which module has which names."""

__getattr__ = on_demand(__name__, _PLACES)

"""``Admin``: every request of an operator to name servers and brokers, one method for each.

    async with MQClient("127.0.0.1:9876") as client:
        admin = Admin(client)
        names = await admin.topic_list()

Methods have the names of Java's MQAdminExt in snake_case, and each family of methods has a file.
A method that goes to one broker takes its address, so that the caller sees what happens where.

Rule: when a server cannot do something, the caller gets the server's error, not a guess.

Source: tools/admin/MQAdminExt.java, tools/admin/DefaultMQAdminExtImpl.java (4.9.7).
"""

from mqclient.admin.auth import AuthCalls
from mqclient.admin.broker import AclCalls, BrokerCalls, HaCalls, NamesrvCalls
from mqclient.admin.controller import ControllerCalls
from mqclient.admin.lock import LockCalls
from mqclient.admin.message import MessageCalls
from mqclient.admin.offset import OffsetCalls
from mqclient.admin.pop import PopCalls
from mqclient.admin.static_topic import StaticTopicCalls
from mqclient.admin.storage import StorageCalls
from mqclient.admin.topic import TopicCalls
from mqclient.admin.transaction import TransactionCalls


class Admin(
    TopicCalls,
    LockCalls,
    OffsetCalls,
    MessageCalls,
    TransactionCalls,
    PopCalls,
    BrokerCalls,
    HaCalls,
    NamesrvCalls,
    AclCalls,
    AuthCalls,
    StorageCalls,
    StaticTopicCalls,
    ControllerCalls,
):
    """All families of admin calls on one client; ``LockCalls`` includes the group calls.

    In every method ``address`` is that of the broker, ``host:port``, where nothing else is said;
    ``group`` is a consumer group, and ``client_id`` one of its members. ``Args`` has the other
    parameters.
    """

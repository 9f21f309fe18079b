"""Everything an operator may ask of name servers and brokers, one method a request.

    async with MQClient("127.0.0.1:9876") as client:
        admin = Admin(client)
        names = await admin.topic_list()

Rule: methods have the names of Java's MQAdminExt in snake_case and live in one family file
each; a method that goes to one broker takes its address, so that a caller sees what happens
where. What a server cannot do is the error it answers, never a guess.

Source: tools/admin/MQAdminExt.java, tools/admin/DefaultMQAdminExtImpl.java (4.9.7).
"""

from mqclient.admin.broker import AclCalls, BrokerCalls, HaCalls, NamesrvCalls
from mqclient.admin.lock import LockCalls
from mqclient.admin.message import MessageCalls
from mqclient.admin.offset import OffsetCalls
from mqclient.admin.topic import TopicCalls
from mqclient.admin.transaction import TransactionCalls


class Admin(
    TopicCalls,
    LockCalls,
    OffsetCalls,
    MessageCalls,
    TransactionCalls,
    BrokerCalls,
    HaCalls,
    NamesrvCalls,
    AclCalls,
):
    """All families of admin calls on one client; group calls come with the lock calls."""

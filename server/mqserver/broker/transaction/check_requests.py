"""Choose the producer to ask for its decision on a half message, and send it the request.

Rule: any client can claim to be in a producer group. So with ACL a producer is asked only about
topics to which it may send.

Source: broker/transaction/AbstractTransactionalMessageCheckListener.java#sendCheckMessage,
broker/client/ProducerManager.java#getAvailableChannel (4.9.7).
"""

import logging
from collections.abc import Callable
from functools import partial

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.acl.accounts import AclError, Perm
from mqserver.broker.clients.client_requests import ClientCalls
from mqserver.broker.clients.members import GroupMember, Producers
from remoting.command import Command
from storefmt.formats.message import decode_record

LOG = logging.getLogger(__name__)


class CheckRequests:
    """Asks the producers of one broker.

    Args:
        producers: the producers that are connected.
        calls: sends the requests.
        access: returns the access control; None without accounts.
    """

    def __init__(
        self, producers: Producers, calls: ClientCalls, access: Callable[[], BrokerAccess | None]
    ) -> None:
        self._producers = producers
        self._calls = calls
        self._access = access

    def can_ask(self, group: str, topic: str) -> bool:
        """Return whether a producer of a group is connected and may see messages of a topic."""
        return any(
            not producer.conn.is_closing and self._may_be_asked(topic, producer)
            for producer in self._producers.members(group) or ()
        )

    def ask(self, group: str, question: Command) -> None:
        """Send a check request (39) to one of the producers of a group, by turns."""
        topic = decode_record(question.body, check_crc=False).topic
        conn = self._producers.next_connection(group, partial(self._may_be_asked, topic))
        if conn is None:
            LOG.warning("no producer of group %s is connected; its half message waits", group)
        else:
            self._calls.oneway(conn, question)

    def _may_be_asked(self, topic: str, producer: GroupMember) -> bool:
        access = self._access()
        if access is None:
            return True
        try:
            access.require(producer.conn.peer[0], producer.access_key, (topic, Perm.PUB))
        except AclError as error:
            LOG.warning("did not ask %s: %s", producer.conn.address, error)
            return False
        return True

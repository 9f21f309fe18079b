"""Where a proxy gets the users and rules of ACL 2.0: from a broker, signed by a Super user.

Every broker has users of its own, which are expected to be the same. The broker that answered last
is asked first, so that the answers come from one broker while it is there. 5.4.0's proxy fetches
each user when it is named, from any broker.

Source: proxy/auth/ProxyAuthenticationMetadataProvider.java,
proxy/auth/ProxyAuthorizationMetadataProvider.java (5.4.0).
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError, NotFound
from mqserver.proxy.context import Credentials
from remoting.aio.tls import ClientTls
from remoting.bodies import AclInfo, UserInfo

LOG = logging.getLogger(__name__)


class UserLists(NamedTuple):
    """The users of a broker with their passwords, and their rules."""

    users: list[UserInfo]
    acls: list[AclInfo]


class UserSource:
    """Asks the masters of a cluster for their users.

    Args:
        namesrv: the addresses of the name servers, joined by semicolons.
        keys: of a Super user of the brokers.
        with_rules: whether rules are needed as well.
        tls: how connections are encrypted; None leaves them plain.
        now_ms: returns the wall clock.
    """

    def __init__(
        self,
        namesrv: str,
        keys: Credentials,
        *,
        with_rules: bool,
        tls: ClientTls | None,
        now_ms: Callable[[], int],
    ) -> None:
        self._namesrv = namesrv
        self._keys = keys
        self._with_rules = with_rules
        self._tls = tls
        self._now_ms = now_ms
        self._address = ""

    async def fetch(self) -> UserLists:
        """Return the lists of the first master that answers.

        Raises:
            ClientError: no master answers, or none accepts the signature.
        """
        access_key, secret_key = self._keys
        async with MQClient(
            self._namesrv,
            access_key=access_key,
            secret_key=secret_key,
            tls=self._tls,
            clock_ms=self._now_ms,
        ) as client:
            admin = Admin(client)
            brokers = (await admin.cluster_info()).broker_addr_table.values()
            masters = {address for data in brokers if (address := data.master()) is not None}
            failure: ClientError = NotFound("no broker is registered, so there are no users")
            for address in sorted(masters, key=lambda each: (each != self._address, each)):
                try:
                    lists = await self._ask(admin, address)
                except ClientError as error:
                    failure = error
                    continue
                if address != self._address:
                    LOG.info("the users of %s are checked, %d by now", address, len(lists.users))
                self._address = address
                return lists
        raise failure

    async def _ask(self, admin: Admin, address: str) -> UserLists:
        users = await admin.list_users(address)
        return UserLists(users, await admin.list_acls(address) if self._with_rules else [])

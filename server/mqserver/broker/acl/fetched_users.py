"""The users and rules of brokers, as a proxy in front of them checks its calls with them.

    refresh: a broker answers ──────────── the copy is replaced as a whole
             no broker answers ─────────── the copy stays, until it is too old
    check:   copy too old, or none yet ─── refused, with the reason
             otherwise ─────────────────── as in a broker (``user_access``, ``call_rights``)

Rule: what is not known is refused. Someone who is no longer a user passes this check until the next
refresh, and no longer than ``age_ms_max`` while no broker answers; brokers check everything that is
then asked of them once more.
"""

from collections.abc import Awaitable, Callable

from mqserver.broker.acl.call_rights import check_call
from mqserver.broker.acl.user_access import UserChecks, UserSettings
from mqserver.broker.acl.users import Users
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.user_source import UserLists


class FetchedUsers:
    """A copy of the users and rules of brokers, and the checks of a gRPC endpoint with it.

    Args:
        fetch: returns the lists of a broker.
        settings: how far they are checked; rules of calls are about topics and groups, so the
            name of the cluster does not matter.
        age_ms_max: how long a copy is used.
        steady_ms: returns a clock that is never set.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[UserLists]],
        settings: UserSettings,
        *,
        age_ms_max: int,
        steady_ms: Callable[[], int],
    ) -> None:
        self._fetch = fetch
        self._checks = UserChecks(Users(), settings)
        self._age_ms_max = age_ms_max
        self._steady_ms = steady_ms
        self._asked_ms: int | None = None

    async def refresh(self, now_ms: int) -> None:
        """Replace the copy by what a broker answers.

        Raises:
            ClientError: no broker answers; the copy stays.
        """
        asked_ms = self._steady_ms()
        lists = await self._fetch()
        self._checks.users = Users(
            {user.username or "": user for user in lists.users},
            {acl.subject or "": acl for acl in lists.acls},
        )
        self._asked_ms = asked_ms

    def secret_of(self, access_key: str) -> str | None:
        """Return the password of a user who is not disabled; None for any other name.

        Raises:
            ProxyRefused: users are not known.
        """
        self._require_copy()
        return self._checks.secret_of(access_key)

    def check(self, request: object, context: ProxyContext) -> None:
        """Check a call whose signature was checked before.

        Raises:
            ProxyRefused: the user may not do this, or users are not known.
        """
        self._require_copy()
        check_call(self._checks, request, context)

    def _require_copy(self) -> None:
        if self._asked_ms is None:
            text = "users are not known yet, because no broker has answered; try again later"
        elif (age_ms := self._steady_ms() - self._asked_ms) > self._age_ms_max:
            text = f"users are not known, because no broker has answered for {age_ms // 1000} s"
        else:
            return
        raise ProxyRefused(Code.INTERNAL_SERVER_ERROR, text)

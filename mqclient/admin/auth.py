"""Admin calls about the users and rules of ACL 2.0, which brokers of RocketMQ 5.3 and later have.

Each broker keeps users and rules of its own, so a change has to be made on every one, on slaves
as well.

Source: client/impl/MQClientAPIImpl.java (5.4.0).
"""

from __future__ import annotations

from typing import Final, TypeVar

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from mqclient.errors import BadAnswer
from remoting import bodies, headers
from remoting.bodies.base import Body
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.errors import BadBody
from remoting.serialize import java_text
from storefmt.config import fastjson
from storefmt.errors import ConfigDamaged

_USERS: Final = "users"
_B = TypeVar("_B", bound=Body)


class AuthCalls(AdminCalls):
    """The requests about users and rules of ACL 2.0; a subject is ``User:name``."""

    async def create_user(self, address: str, user: bodies.UserInfo) -> None:
        """Create a user; needs its name and its password."""
        await self._broker(
            address,
            LaterCode.AUTH_CREATE_USER,
            headers.CreateUser(username=user.username),
            what=f"user {user.username}",
            body=user.encode(),
        )

    async def update_user(self, address: str, user: bodies.UserInfo) -> None:
        """Change the fields of a user that are not None."""
        await self._broker(
            address,
            LaterCode.AUTH_UPDATE_USER,
            headers.UpdateUser(username=user.username),
            what=f"user {user.username}",
            body=user.encode(),
        )

    async def delete_user(self, address: str, username: str) -> None:
        """Delete a user and its rules; that it is unknown is not an error."""
        await self._broker(
            address,
            LaterCode.AUTH_DELETE_USER,
            headers.DeleteUser(username=username),
            what=f"user {username}",
        )

    async def get_user(self, address: str, username: str) -> bodies.UserInfo | None:
        """Return a user with its password, None for an unknown one."""
        answer = await self._broker(
            address,
            LaterCode.AUTH_GET_USER,
            headers.GetUser(username=username),
            what=f"user {username}",
        )
        return responses.body(answer, bodies.UserInfo, address=address) if answer.body else None

    async def list_users(self, address: str, part: str | None = None) -> list[bodies.UserInfo]:
        """Return all users with their passwords, or those whose names contain ``part``."""
        answer = await self._broker(
            address, LaterCode.AUTH_LIST_USER, headers.ListUsers(filter=part), what=_USERS
        )
        return _listed(answer, bodies.UserInfo, address=address)

    async def create_acl(self, address: str, acl: bodies.AclInfo) -> None:
        """Add rules to those of a subject."""
        await self._broker(
            address,
            LaterCode.AUTH_CREATE_ACL,
            headers.CreateAcl(subject=acl.subject),
            what=f"rules of {acl.subject}",
            body=acl.encode(),
        )

    async def update_acl(self, address: str, acl: bodies.AclInfo) -> None:
        """Add or replace rules of a subject; those for other resources stay."""
        await self._broker(
            address,
            LaterCode.AUTH_UPDATE_ACL,
            headers.UpdateAcl(subject=acl.subject),
            what=f"rules of {acl.subject}",
            body=acl.encode(),
        )

    async def delete_acl(
        self,
        address: str,
        subject: str,
        *,
        resource: str | None = None,
        policy_type: str | None = None,
    ) -> None:
        """Delete the rule of a subject for one resource, or all its rules.

        Args:
            subject: whose rules.
            resource: None for all rules of the subject.
            policy_type: Default for the rule of that type; else the custom one is deleted.
        """
        await self._broker(
            address,
            LaterCode.AUTH_DELETE_ACL,
            headers.DeleteAcl(subject=subject, resource=resource, policy_type=policy_type),
            what=f"rules of {subject}",
        )

    async def get_acl(self, address: str, subject: str) -> bodies.AclInfo | None:
        """Return the rules of a subject, None where it has none.

        Raises:
            BrokerRefused: there is no such user.
        """
        answer = await self._broker(
            address,
            LaterCode.AUTH_GET_ACL,
            headers.GetAcl(subject=subject),
            what=f"rules of {subject}",
        )
        return responses.body(answer, bodies.AclInfo, address=address) if answer.body else None

    async def list_acls(
        self, address: str, *, subject: str | None = None, resource: str | None = None
    ) -> list[bodies.AclInfo]:
        """Return the rules of all subjects.

        Args:
            subject: only subjects that contain this text.
            resource: only resources that contain this text.
        """
        answer = await self._broker(
            address,
            LaterCode.AUTH_LIST_ACL,
            headers.ListAcls(subject_filter=subject, resource_filter=resource),
            what="rules",
        )
        return _listed(answer, bodies.AclInfo, address=address)


def _listed(answer: Command, body_class: type[_B], *, address: str) -> list[_B]:
    """Return the objects of a JSON list; an empty body is an empty list."""
    try:
        items = fastjson.loads(java_text(answer.body)) if answer.body else []
        if not isinstance(items, list):
            raise BadBody(f"a {type(items).__name__}, expected a list", body=body_class.__name__)
        return [body_class.from_json(item) for item in items]
    except (BadBody, ConfigDamaged) as error:
        raise BadAnswer(
            f"{address} answered with a body that cannot be decoded: {error}"
        ) from error

"""Read and change the users of ACL 2.0 and their rules: request codes 3001 to 3010.

Rule: the sender's permission is checked before these handlers run; in addition, only a Super user
may create, change or delete a Super user. A change is answered when authUsers.json is saved. Only
a Super user gets passwords, since whoever knows one can act as its user; 5.4.0 returns them to
everyone who may read users.

Source: broker/processor/AdminBrokerProcessor.java#createUser, #updateUser, #deleteUser, #getUser,
#listUser, #createAcl, #updateAcl, #deleteAcl, #getAcl, #listAcl (5.4.0).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from mqserver.broker.acl.accounts import UserRefused
from mqserver.broker.acl.user_access import UserAccess
from mqserver.broker.acl.users import FILE_NAME, checked_acl
from mqserver.broker.files.saves import answer_when_saved
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, decoded, in_slices, large
from remoting.acl import ACCESS_KEY
from remoting.bodies import AclInfo, UserInfo
from remoting.bodies.base import Body
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    CreateAcl,
    CreateUser,
    DeleteAcl,
    DeleteUser,
    GetAcl,
    GetUser,
    ListAcls,
    ListUsers,
    UpdateAcl,
    UpdateUser,
)
from remoting.policies import SUPER
from storefmt.config import fastjson

_B = TypeVar("_B", bound=Body)
DONE: Final = "not set any response code"
"""The remark of every answer without an error, by an oversight of 5.4.0."""
ONLY_BY_SUPER: Final = "The super user can only be update by super user"


@handles(LaterCode.AUTH_CREATE_USER)
@in_slices
def create_user(broker: Broker, request: Request) -> Steps[None]:
    """Create the user in the body.

    Raises:
        RequestRefused: the user is incomplete or exists already, or a Normal user creates a Super
            user.
    """
    name = _required(request.command.header(CreateUser).username)
    info = replace((yield from _body(UserInfo, request)), username=name)
    with _changed_users(broker, request) as access:
        if _is_super(info) and _is_by_normal_user(access, request):
            text = "The super user can only be create by super user"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
        access.users.create_user(info)


@handles(LaterCode.AUTH_UPDATE_USER)
@in_slices
def update_user(broker: Broker, request: Request) -> Steps[None]:
    """Change the fields of a user that the body has.

    Raises:
        RequestRefused: there is no such user, or a Normal user changes a Super user.
    """
    name = _required(request.command.header(UpdateUser).username)
    info = replace((yield from _body(UserInfo, request)), username=name)
    with _changed_users(broker, request) as access:
        is_by_normal = _is_by_normal_user(access, request)
        if _is_super(info) and is_by_normal:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, ONLY_BY_SUPER)
        if access.users.is_super(name) and is_by_normal:
            raise UserRefused(ONLY_BY_SUPER)
        access.users.update_user(info)


@handles(LaterCode.AUTH_DELETE_USER)
def delete_user(broker: Broker, request: Request) -> None:
    """Delete a user and its rules; a missing user is not an error.

    Raises:
        RequestRefused: a Normal user deletes a Super user.
    """
    name = request.command.header(DeleteUser).username or ""
    with _changed_users(broker, request) as access:
        if not name.strip():
            raise UserRefused("username can not be blank")
        if access.users.is_super(name) and _is_by_normal_user(access, request):
            raise UserRefused(ONLY_BY_SUPER)
        access.users.delete_user(name)


@handles(LaterCode.AUTH_GET_USER)
def get_user(broker: Broker, request: Request) -> Command:
    """Return one user, or an empty body if there is no such user."""
    name = _required(request.command.header(GetUser).username)
    with _users(broker, request) as access:
        user = access.users.users.get(name)
    if user is not None and not access.users.is_super(request.command.ext.get(ACCESS_KEY)):
        user = replace(user, password=None)
    return request.command.response(remark=DONE, body=b"" if user is None else user.encode())


@handles(LaterCode.AUTH_LIST_USER)
@in_slices
def list_users(broker: Broker, request: Request) -> Steps[Command]:
    """Return the users whose names contain a text."""
    with _users(broker, request) as access:
        users = access.users.list_users(request.command.header(ListUsers).filter)
    is_super = access.users.is_super(request.command.ext.get(ACCESS_KEY))
    body = yield from large(partial(_encoded_users, users, is_super), count=len(users))
    return request.command.response(remark=DONE, body=body)


@handles(LaterCode.AUTH_CREATE_ACL)
@in_slices
def create_acl(broker: Broker, request: Request) -> Steps[None]:
    """Add rules to those of a subject; those for the same resource are replaced.

    Raises:
        RequestRefused: there is no such user, or a rule is incomplete.
    """
    yield from _put_acl(broker, request, request.command.header(CreateAcl).subject)


@handles(LaterCode.AUTH_UPDATE_ACL)
@in_slices
def update_acl(broker: Broker, request: Request) -> Steps[None]:
    """Do the same as ``create_acl``, as in 5.4.0.

    Raises:
        RequestRefused: there is no such user, or a rule is incomplete.
    """
    yield from _put_acl(broker, request, request.command.header(UpdateAcl).subject)


def _put_acl(broker: Broker, request: Request, subject: str | None) -> Steps[None]:
    acl = yield from _body(AclInfo, request)
    if not acl.policies:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The body of acl is null")
    with _changed_users(broker, request) as access:
        checked = yield from large(partial(checked_acl, subject, acl), count=_rule_count(acl))
        access.users.put_acl(checked)


@handles(LaterCode.AUTH_DELETE_ACL)
def delete_acl(broker: Broker, request: Request) -> None:
    """Delete the rule of a subject for one resource, or all its rules.

    Raises:
        RequestRefused: there is no such user, or it has no rules.
    """
    header = request.command.header(DeleteAcl)
    with _changed_users(broker, request) as access:
        access.users.delete_acl(
            header.subject, policy_type=header.policy_type, resource=header.resource
        )


@handles(LaterCode.AUTH_GET_ACL)
@in_slices
def get_acl(broker: Broker, request: Request) -> Steps[Command]:
    """Return the rules of a subject, or an empty body if it has no rules.

    Raises:
        RequestRefused: there is no such user.
    """
    with _users(broker, request) as access:
        acl = access.users.acl_of(request.command.header(GetAcl).subject)
    body = b"" if acl is None else (yield from large(acl.encode, count=_rule_count(acl)))
    return request.command.response(remark=DONE, body=body)


@handles(LaterCode.AUTH_LIST_ACL)
@in_slices
def list_acls(broker: Broker, request: Request) -> Steps[Command]:
    """Return the rules of all subjects, or of those that contain a text."""
    header = request.command.header(ListAcls)
    with _users(broker, request) as access:
        acls = list(access.users.list_acls(header.subject_filter, header.resource_filter))
    body = yield from large(partial(_list, acls), count=sum(map(_rule_count, acls)))
    return request.command.response(remark=DONE, body=body)


@contextmanager
def _users(broker: Broker, request: Request) -> Iterator[UserAccess]:
    """Yield the users of a broker, and turn a UserRefused into the answer."""
    access = broker.access
    if not isinstance(access, UserAccess):
        code = request.command.code
        raise RequestRefused(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
            f" request type {code} not supported: authenticationEnabled is false",
        )
    try:
        yield access
    except UserRefused as error:
        raise RequestRefused(error.response_code, error.remark) from error


@contextmanager
def _changed_users(broker: Broker, request: Request) -> Iterator[UserAccess]:
    """Yield the users of a broker for a change, and answer when it is saved."""
    with _users(broker, request) as access:
        yield access
    access.changed()
    answer_when_saved(broker.files, request, name=Path(FILE_NAME).stem, remark=DONE)


def _required(username: str | None) -> str:
    if not (username or "").strip():
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, "The username is blank")
    return username or ""


def _body(kind: type[_B], request: Request) -> Steps[_B]:
    body = request.command.body
    return (yield from decoded(kind.decode, body)) if body else kind()


def _is_super(info: UserInfo) -> bool:
    return (info.user_type or "").lower() == SUPER.lower()


def _is_by_normal_user(access: UserAccess, request: Request) -> bool:
    """Return whether the sender is not a Super user; in 5.4.0 an unsigned sender counts as one."""
    return not access.users.is_super(request.command.ext.get(ACCESS_KEY))


def _encoded_users(users: Iterable[UserInfo], with_passwords: bool) -> bytes:
    return _list([user if with_passwords else replace(user, password=None) for user in users])


def _rule_count(acl: AclInfo) -> int:
    return sum(len(policy.entries or ()) for policy in acl.policies or ())


def _list(items: Sequence[Body]) -> bytes:
    return fastjson.dumps([item.to_json() for item in items]).encode() if items else b""

"""Read and change the accounts of a broker: request codes 50 to 54.

Rule: whether the sender is an admin is checked before these handlers run. No answer contains a
secret key: 54 returns every account with its secret hidden (4.9.7 returns the secrets to any
account: CVE-2024-23321).

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateAccessConfig,
#deleteAccessConfig, #updateGlobalWhiteAddrsConfig, #getBrokerAclConfigVersion,
#getBrokerClusterAclConfig.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mqserver.broker.acl.accounts import AclError
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.bodies import GetBrokerClusterAclConfigResponseBody, PlainAccessConfig
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    CreateAccessConfig,
    DeleteAccessConfig,
    GetBrokerAclConfigResponse,
    UpdateGlobalWhiteAddrsConfig,
)
from storefmt.config import fastjson
from storefmt.errors import ConfigDamaged


@handles(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG)
def update_account(broker: Broker, request: Request) -> Command:
    """Create or change an account; fields that the request leaves out keep their values.

    Raises:
        RequestRefused: the account is not valid, or the files cannot be read or written.
    """
    failed = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
    header = request.command.header(CreateAccessConfig)
    config = PlainAccessConfig(
        access_key=header.access_key,
        secret_key=header.secret_key,
        white_remote_address=header.white_remote_address,
        admin=header.admin,
        default_topic_perm=header.default_topic_perm,
        default_group_perm=header.default_group_perm,
        topic_perms=_split(header.topic_perms),
        group_perms=_split(header.group_perms),
    )
    with _access(broker, failed) as access:
        access.update(config, request.now_ms)
    return request.command.response()


@handles(RequestCode.DELETE_ACL_CONFIG)
def delete_account(broker: Broker, request: Request) -> Command:
    """Remove an account.

    Raises:
        RequestRefused: there is no such account, or the files cannot be read or written.
    """
    failed = ResponseCode.DELETE_ACL_CONFIG_FAILED
    access_key = request.command.header(DeleteAccessConfig).access_key
    with _access(broker, failed) as access:
        is_deleted = access.delete(access_key, request.now_ms)
    if not is_deleted:
        raise RequestRefused(
            failed,
            f"The accesskey[{access_key}] corresponding to accessConfig has been deleted failed.",
        )
    return request.command.response()


@handles(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG)
def update_white_list(broker: Broker, request: Request) -> Command:
    """Replace the global white list (addresses that need no key) in one of the account files.

    Raises:
        RequestRefused: an address is not valid, or the file does not exist or cannot be written.
    """
    failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
    # mqadmin leaves aclFileFullPath out, although Java's header declares it as required.
    ext = {"aclFileFullPath": "", **request.command.ext}
    header = UpdateGlobalWhiteAddrsConfig.from_ext(ext)
    addresses = header.global_white_addrs
    with _access(broker, failed) as access:
        is_written = access.set_white(
            _split(addresses) or [], header.acl_file_full_path, request.now_ms
        )
    if not is_written:
        raise RequestRefused(
            failed, f"The globalWhiteAddresses[{addresses}] has been updated failed."
        )
    return request.command.response()


@handles(RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
def get_acl_version(broker: Broker, request: Request) -> Command:
    """Return the data version of every account file."""
    config = broker.config
    with _access(broker, ResponseCode.SYSTEM_ERROR) as access:
        header = GetBrokerAclConfigResponse(
            version=fastjson.dumps(access.version.to_json()),
            all_acl_file_version=fastjson.dumps(
                {path: version.to_json() for path, version in access.versions.items()}
            ),
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
        )
    return request.command.response(header=header)


@handles(RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG)
def get_acl_config(broker: Broker, request: Request) -> Command:
    """Return all accounts with their secrets hidden, and the global white list."""
    with _access(broker, ResponseCode.SYSTEM_ERROR) as access:
        body = GetBrokerClusterAclConfigResponseBody(
            global_white_addrs=access.white, plain_access_configs=access.accounts
        )
    return request.command.response(body=body.encode())


@contextmanager
def _access(broker: Broker, failed: ResponseCode) -> Iterator[AccessControl]:
    """Yield the accounts of a broker; if they cannot be used, the answer is ``failed`` and why."""
    if not isinstance(broker.access, AccessControl):
        # Java answers with a NullPointerException or not at all.
        raise RequestRefused(failed, "this broker has no accounts: aclEnable is false")
    try:
        yield broker.access
    except (AclError, ConfigDamaged, OSError) as error:
        raise RequestRefused(failed, str(error)) from error


def _split(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")

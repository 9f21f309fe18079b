"""Accounts of brokers with access control: read, set, delete, white list, versions.

Rule: a Java broker without access control (aclEnable=false) does not answer some of these at
all, so that is a TimedOut; ours answers an error.

Source: tools/admin/DefaultMQAdminExtImpl.java (4.9.7).
"""

from __future__ import annotations

from collections.abc import Sequence

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from remoting import bodies, headers
from remoting.codes import RequestCode
from remoting.command import Command


class AclCalls(AdminCalls):
    """Requests about accounts."""

    async def acl_config(self, address: str) -> bodies.GetBrokerClusterAclConfigResponseBody:
        """Return accounts and global white list; a Java broker tells the secrets too."""
        answer = await self._broker(
            address, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, what="accounts"
        )
        return responses.body(answer, bodies.GetBrokerClusterAclConfigResponseBody, address=address)

    async def acl_version(self, address: str) -> headers.GetBrokerAclConfigResponse:
        """Return the versions of the account files, as json text."""
        answer = await self._broker(
            address, RequestCode.GET_BROKER_CLUSTER_ACL_INFO, what="versions of accounts"
        )
        return responses.header(answer, headers.GetBrokerAclConfigResponse, address=address)

    async def update_account(self, address: str, account: bodies.PlainAccessConfig) -> None:
        """Create an account or change what is not None; it needs both of its keys."""
        header = headers.CreateAccessConfig(
            access_key=account.access_key or "",
            secret_key=account.secret_key,
            white_remote_address=account.white_remote_address,
            admin=account.admin,
            default_topic_perm=account.default_topic_perm,
            default_group_perm=account.default_group_perm,
            topic_perms=_joined(account.topic_perms),
            group_perms=_joined(account.group_perms),
        )
        await self._broker(
            address,
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            header,
            what=f"account {account.access_key}",
        )

    async def delete_account(self, address: str, access_key: str) -> None:
        """Delete an account."""
        await self._broker(
            address,
            RequestCode.DELETE_ACL_CONFIG,
            headers.DeleteAccessConfig(access_key=access_key),
            what=f"account {access_key}",
        )

    async def update_white_addresses(
        self, address: str, patterns: Sequence[str], *, file: str | None = None
    ) -> None:
        """Replace who needs no signature, in one of the account files, by default the first."""
        header = headers.UpdateGlobalWhiteAddrsConfig(
            global_white_addrs=",".join(patterns), acl_file_full_path=file or ""
        )
        command = Command.request(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, header)
        if file is None:
            # An empty path is a path to Java; no path at all is the default file.
            del command.ext["aclFileFullPath"]
        answer = await self._client.invoke(address, command)
        responses.check(answer, address=address, what="global white list")


def _joined(perms: Sequence[str] | None) -> str | None:
    return None if perms is None else ",".join(perms)

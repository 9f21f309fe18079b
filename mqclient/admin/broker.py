"""Admin calls about a broker or a name server as a whole.

The calls are about settings, counters, write permission, clean-up, the role of a slave, and the
accounts of a broker with access control.

Rule: a Java broker without access control (aclEnable=false) does not answer some requests about
accounts, which is a TimedOut; our broker answers an error.

Source: tools/admin/DefaultMQAdminExtImpl.java (4.9.7). Only our broker has
``promote_slave`` and ``demote_master``; in Java a role changes by configuration and restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from mqclient.errors import NotFound, TimedOut
from remoting import bodies, headers
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import DemoteMaster, PromoteSlave
from storefmt.config.tables import DelayOffsets


class BrokerCalls(AdminCalls):
    """The requests about one broker."""

    async def broker_runtime(self, address: str) -> dict[str, str]:
        """Return counters and gauges of a broker, sorted by name."""
        runtime_info = await self._body(
            address, RequestCode.GET_BROKER_RUNTIME_INFO, bodies.KVTable, what="runtime info"
        )
        return dict(sorted(runtime_info.table.items()))

    async def broker_config(self, address: str) -> dict[str, str]:
        """Return every setting of a broker, sorted by name."""
        answer = await self._broker(address, RequestCode.GET_BROKER_CONFIG, what="settings")
        return responses.properties(answer)

    async def update_broker_config(self, address: str, settings: Mapping[str, str]) -> None:
        """Change settings of a running broker; a 4.9 broker ignores unknown names silently."""
        await self._broker(
            address,
            RequestCode.UPDATE_BROKER_CONFIG,
            what="settings",
            body=responses.settings_body(settings),
        )

    async def broker_stats(self, address: str, name: str, key: str) -> bodies.BrokerStatsData:
        """Return one statistic of the last minute, hour and day.

        Raises:
            BrokerRefused: code 1 when nothing was counted under this name and key.
        """
        return await self._body(
            address,
            RequestCode.VIEW_BROKER_STATS_DATA,
            bodies.BrokerStatsData,
            headers.ViewBrokerStatsData(stats_name=name, stats_key=key),
            what=f"statistic {name} of {key}",
        )

    async def broker_consume_stats(
        self, address: str, *, order: bool = False
    ) -> bodies.ConsumeStatsList:
        """Return the consumer offsets of every group on a broker, and the ends of their queues."""
        return await self._body(
            address,
            RequestCode.GET_BROKER_CONSUME_STATS,
            bodies.ConsumeStatsList,
            headers.GetConsumeStatsInBroker(is_order=order),
            what="progress of all groups",
        )

    async def delay_offsets(self, address: str) -> dict[int, int]:
        """Return the next queue offset to deliver of each delay level."""
        delay_offsets = await self._body(
            address, RequestCode.GET_ALL_DELAY_OFFSET, DelayOffsets, what="delay offsets"
        )
        return delay_offsets.offsets

    async def clean_expired_queues(self, address: str) -> None:
        """Delete consume queues older than the commit log."""
        await self._broker(address, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, what="clean queues")

    async def clean_unused_topics(self, address: str) -> None:
        """Delete consume queues of topics without settings."""
        await self._broker(address, RequestCode.CLEAN_UNUSED_TOPIC, what="clean topics")

    async def delete_expired_log(self, address: str) -> None:
        """Delete commit log files that are older than the broker keeps them."""
        await self._broker(address, RequestCode.DELETE_EXPIRED_COMMITLOG, what="clean log")


class NamesrvCalls(AdminCalls):
    """The requests about name servers."""

    async def namesrv_config(self, address: str | None = None) -> dict[str, str]:
        """Return every setting of a name server, or of the first one that answers."""
        _, answer = await self._namesrv(
            RequestCode.GET_NAMESRV_CONFIG, what="settings", address=address
        )
        return responses.properties(answer)

    async def update_namesrv_config(self, address: str, settings: Mapping[str, str]) -> None:
        """Change settings of a running name server."""
        await self._broker(
            address,
            RequestCode.UPDATE_NAMESRV_CONFIG,
            what="settings",
            body=responses.settings_body(settings),
        )

    async def wipe_write_perm(self, address: str, broker_name: str) -> int:
        """Take write permission from all queues of a broker, on one name server.

        Returns:
            The number of topics that it changed.
        """
        answer = await self._broker(
            address,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER,
            headers.WipeWritePermOfBroker(broker_name=broker_name),
            what=f"broker {broker_name}",
        )
        return responses.header(
            answer, headers.WipeWritePermOfBrokerResponse, address=address
        ).wipe_topic_count

    async def add_write_perm(self, address: str, broker_name: str) -> int:
        """Give all queues of a broker read and write permission again, on one name server.

        Raises:
            TimedOut: no answer came; a name server before 4.8 does not answer this request.
        """
        try:
            answer = await self._broker(
                address,
                RequestCode.ADD_WRITE_PERM_OF_BROKER,
                headers.AddWritePermOfBroker(broker_name=broker_name),
                what=f"broker {broker_name}",
            )
        except TimedOut as error:
            error.advise("a name server before 4.8 does not know this request: restart the broker")
            raise
        return responses.header(
            answer, headers.AddWritePermOfBrokerResponse, address=address
        ).add_topic_count

    async def kv_get(self, namespace: str, key: str, *, address: str | None = None) -> str | None:
        """Return a value of the key-value table of a name server; None when it has no such key.

        Args:
            namespace, key: the name of the value.
            address: the name server; None means the first that answers.
        """
        what = f"key {key} of namespace {namespace}"
        try:
            address, answer = await self._namesrv(
                RequestCode.GET_KV_CONFIG,
                headers.GetKVConfig(namespace=namespace, key=key),
                what=what,
                address=address,
            )
        except NotFound as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise
        return responses.header(answer, headers.GetKVConfigResponse, address=address).value

    async def kv_list(self, namespace: str, *, address: str | None = None) -> dict[str, str]:
        """Return all values of a namespace by key, sorted; an unknown namespace has none."""
        try:
            kv_table = await self._namesrv_body(
                RequestCode.GET_KVLIST_BY_NAMESPACE,
                bodies.KVTable,
                headers.GetKVListByNamespace(namespace=namespace),
                what=f"namespace {namespace}",
                address=address,
            )
        except NotFound as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return {}
            raise
        return dict(sorted(kv_table.table.items()))

    async def kv_put(
        self, namespace: str, key: str, value: str, *, address: str | None = None
    ) -> None:
        """Set a value on every name server, or on one.

        Args:
            namespace, key: the name of the value.
            value: the new value.
            address: only this name server; None means all of them.
        """
        header = headers.PutKVConfig(namespace=namespace, key=key, value=value)
        what = f"key {key} of namespace {namespace}"
        await self._each_namesrv(RequestCode.PUT_KV_CONFIG, header, what=what, address=address)

    async def kv_delete(self, namespace: str, key: str, *, address: str | None = None) -> None:
        """Delete a value on every name server, or on one.

        Args:
            namespace, key: the name of the value.
            address: only this name server; None means all of them.
        """
        header = headers.DeleteKVConfig(namespace=namespace, key=key)
        what = f"key {key} of namespace {namespace}"
        await self._each_namesrv(RequestCode.DELETE_KV_CONFIG, header, what=what, address=address)


class HaCalls(AdminCalls):
    """The requests about replication."""

    async def promote_slave(
        self, address: str, *, role: str | None = None, force: bool = False
    ) -> str:
        """Make a slave the master, and return its text about what it did.

        Args:
            address: the slave.
            role: ASYNC_MASTER or SYNC_MASTER; None means the role that its master had.
            force: promote it even if it knows that messages are missing.

        Raises:
            BrokerRefused: the broker is not a slave, it is stale, or its master is alive. A Java
                broker, which does not have this request, answers code 3.
        """
        answer = await self._broker(
            address,
            ExtensionCode.PROMOTE_SLAVE,
            PromoteSlave(role=role, force=force),
            what="promotion",
        )
        return answer.remark or ""

    async def demote_master(
        self, address: str, *, broker_id: int, cut_tail: bool = False, force: bool = False
    ) -> str:
        """Turn a master that was replaced into a slave, and return its text about what it did.

        The broker answers before it restarts as a slave.

        Args:
            address: the master.
            broker_id: the broker id that it gets, which is 1 or more.
            cut_tail: copy the end of the log that the new master's log does not have, and cut it;
                this also works on a slave.
            force: demote it even if it has not heard of a new master.

        Raises:
            BrokerRefused: the broker still leads, or there is nothing to cut. A Java broker, which
                does not have this request, answers code 3.
        """
        answer = await self._broker(
            address,
            ExtensionCode.DEMOTE_MASTER,
            DemoteMaster(broker_id=broker_id, cut_tail=cut_tail, force=force),
            what="demotion",
        )
        return answer.remark or ""


class AclCalls(AdminCalls):
    """The requests about accounts."""

    async def acl_config(self, address: str) -> bodies.GetBrokerClusterAclConfigResponseBody:
        """Return the accounts and the global white list; a Java broker also sends the secrets."""
        return await self._body(
            address,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
            bodies.GetBrokerClusterAclConfigResponseBody,
            what="accounts",
        )

    async def acl_version(self, address: str) -> headers.GetBrokerAclConfigResponse:
        """Return the versions of the account files, as JSON text."""
        answer = await self._broker(
            address, RequestCode.GET_BROKER_CLUSTER_ACL_INFO, what="versions of accounts"
        )
        return responses.header(answer, headers.GetBrokerAclConfigResponse, address=address)

    async def update_account(self, address: str, account: bodies.PlainAccessConfig) -> None:
        """Create an account, or change its fields that are not None; both keys are required."""
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
        """Replace the addresses that need no signature.

        Args:
            patterns: the addresses, in which ``*`` may stand for a part.
            file: the account file to change; None means the broker's default file.
        """
        header = headers.UpdateGlobalWhiteAddrsConfig(
            global_white_addrs=",".join(patterns), acl_file_full_path=file or ""
        )
        command = Command.request(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, header)
        if file is None:
            # Java uses an empty path as it is, and uses the default file when the field is missing.
            del command.ext["aclFileFullPath"]
        answer = await self._client.invoke(address, command)
        responses.check(answer, address=address, what="global white list")


def _joined(perms: Sequence[str] | None) -> str | None:
    return None if perms is None else ",".join(perms)

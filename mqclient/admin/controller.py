"""Admin calls to controllers, and calls to brokers that came with the groups of RocketMQ 5.

Only the leading controller answers questions about groups; ``controller_leader`` says who leads.

Source: client/impl/MQClientAPIImpl.java, tools/command/controller/*.java (5.4.0).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from mqclient.errors import BadAnswer
from remoting import bodies, headers
from remoting.codes import LaterCode

_NAMES = "groups of a controller"


class ControllerCalls(AdminCalls):
    """The requests about groups with a controller, HA connections and BrokerContainers."""

    async def controller_metadata(self, address: str) -> headers.GetMetaDataResponse:
        """Return which controller leads, as the controller at ``address`` knows it."""
        answer = await self._broker(
            address, LaterCode.CONTROLLER_GET_METADATA_INFO, what="metadata of controllers"
        )
        return responses.header(answer, headers.GetMetaDataResponse, address=address)

    async def controller_leader(self, address: str) -> str:
        """Return the address of the leading controller.

        Raises:
            BadAnswer: the controllers have no leader now.
        """
        leader = (await self.controller_metadata(address)).controller_leader_address
        if not leader:
            raise BadAnswer(f"the controllers of {address} have no leader now")
        return leader

    async def sync_state_data(
        self, address: str, broker_names: Iterable[str]
    ) -> dict[str, bodies.ReplicasInfo]:
        """Return masters and in-sync sets of groups by broker name; unknown ones are left out.

        Args:
            address: the leading controller.
            broker_names: the groups.
        """
        body = json.dumps(list(broker_names), separators=(",", ":")).encode()
        answer = await self._broker(
            address, LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, what=_NAMES, body=body
        )
        return responses.body(
            answer, bodies.BrokerReplicasInfo, address=address
        ).replicas_info_table

    async def elect_master(
        self,
        address: str,
        *,
        cluster: str,
        broker_name: str,
        broker_id: int,
        is_unclean: bool = False,
    ) -> tuple[headers.ElectMasterResponse, bodies.BrokerMemberGroup | None]:
        """Make a broker the master of its group.

        Args:
            address: the leading controller.
            cluster, broker_name: the group.
            broker_id: the broker, by its id in the group.
            is_unclean: whether it may be outside the in-sync set; only our controller knows this.

        Returns:
            The master as it is now, and the addresses of the group.
        """
        answer = await self._broker(
            address,
            LaterCode.CONTROLLER_ELECT_MASTER,
            headers.ElectMaster(
                cluster_name=cluster,
                broker_name=broker_name,
                broker_id=broker_id,
                designate_elect=True,
                is_unclean=is_unclean or None,
            ),
            what=f"broker {broker_id} of {broker_name}",
        )
        body = responses.body(answer, bodies.ElectMasterResponseBody, address=address)
        header = responses.header(answer, headers.ElectMasterResponse, address=address)
        return header, body.broker_member_group

    async def clean_broker_data(
        self,
        address: str,
        *,
        cluster: str | None,
        broker_name: str,
        broker_ids: Iterable[int] = (),
        cleans_living: bool = False,
    ) -> None:
        """Let the controllers forget brokers of a group, or the whole group.

        Args:
            address: the leading controller.
            cluster, broker_name: the group.
            broker_ids: the brokers; none for the whole group.
            cleans_living: whether brokers that are alive may be forgotten.
        """
        await self._broker(
            address,
            LaterCode.CLEAN_BROKER_DATA,
            headers.CleanBrokerData(
                cluster_name=cluster,
                broker_name=broker_name,
                broker_controller_ids_to_clean=";".join(map(str, broker_ids)) or None,
                is_clean_living_broker=cleans_living,
            ),
            what=f"group {broker_name}",
        )

    async def controller_config(self, address: str) -> dict[str, str]:
        """Return every setting of a controller."""
        answer = await self._broker(address, LaterCode.GET_CONTROLLER_CONFIG, what="settings")
        return responses.properties(answer)

    async def update_controller_config(self, address: str, settings: Mapping[str, str]) -> None:
        """Change settings of a running controller."""
        await self._broker(
            address,
            LaterCode.UPDATE_CONTROLLER_CONFIG,
            what="settings",
            body=responses.settings_body(settings),
        )

    async def broker_ha_status(self, address: str) -> bodies.HARuntimeInfo:
        """Return how a broker of RocketMQ 5 is connected to its master or slaves.

        Raises:
            BrokerRefused: it is a broker of 4.9, which does not know this request.
        """
        return await self._body(
            address, LaterCode.GET_BROKER_HA_STATUS, bodies.HARuntimeInfo, what="HA status"
        )

    async def reset_master_flush_offset(self, address: str, log_offset: int) -> None:
        """Tell a slave of RocketMQ 5 how far its master has flushed; a master ignores it."""
        await self._broker(
            address,
            LaterCode.RESET_MASTER_FLUSH_OFFSET,
            headers.ResetMasterFlushOffset(master_flush_offset=log_offset),
            what="flush offset of the master",
        )

    async def add_broker(self, container: str, config_path: str) -> None:
        """Start a broker in a BrokerContainer.

        Args:
            container: address of the container.
            config_path: the broker's settings, a file on the machine of the container.
        """
        await self._broker(
            container, LaterCode.ADD_BROKER, headers.AddBroker(config_path=config_path),
            what=f"broker of {config_path}",
        )  # fmt: skip

    async def remove_broker(
        self, container: str, *, cluster: str, broker_name: str, broker_id: int
    ) -> None:
        """Stop a broker in a BrokerContainer; its store stays."""
        await self._broker(
            container,
            LaterCode.REMOVE_BROKER,
            headers.RemoveBroker(
                broker_cluster_name=cluster, broker_name=broker_name, broker_id=broker_id
            ),
            what=f"broker {broker_id} of {broker_name}",
        )

    async def broker_epochs(self, address: str) -> bodies.EpochEntryCache:
        """Return under which masters the log of a broker was written."""
        return await self._body(
            address, LaterCode.GET_BROKER_EPOCH_CACHE, bodies.EpochEntryCache, what="epochs"
        )

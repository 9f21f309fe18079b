"""Admin calls about how a broker of RocketMQ 5 stores and reads its data.

Source: client/impl/MQClientAPIImpl.java (5.4.0).
"""

from __future__ import annotations

from collections.abc import Iterable

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from remoting import bodies, headers
from remoting.codes import JavaOnlyCode


class StorageCalls(AdminCalls):
    """The requests about cold data, read-ahead, the timer engine, POP records and RocksDB."""

    async def cold_data_info(self, address: str) -> bodies.ColdDataFlowCtrInfo:
        """Return what groups read from disk, and their limits."""
        return await self._body(
            address,
            JavaOnlyCode.GET_COLD_DATA_FLOW_CTR_INFO,
            bodies.ColdDataFlowCtrInfo,
            what="cold data",
        )

    async def set_cold_data_limit(self, address: str, group: str, limit: int) -> None:
        """Limit what a group may read from disk, in bytes for each count of the broker."""
        await self._broker(
            address,
            JavaOnlyCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
            what=f"cold data of {group}",
            body=responses.settings_body({group: str(limit)}),
        )

    async def remove_cold_data_limit(self, address: str, group: str) -> None:
        """Remove the limit of a group, so that the one of all others counts for it."""
        await self._broker(
            address,
            JavaOnlyCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
            what=f"cold data of {group}",
            body=group.encode(),
        )

    async def set_read_ahead(self, address: str, *, is_on: bool) -> None:
        """Let the system read ahead in the commit log, or only what is asked for."""
        await self._broker(
            address,
            JavaOnlyCode.SET_COMMITLOG_READ_MODE,
            headers.SetReadAheadMode(mode="0" if is_on else "1"),
            what="read-ahead of the commit log",
        )

    async def switch_timer_engine(self, address: str, engine: str) -> None:
        """Let RocksDB (``R``) or files (``F``) keep the delayed messages."""
        await self._broker(
            address,
            JavaOnlyCode.SWITCH_TIMER_ENGINE,
            headers.SwitchTimerEngine(engine=engine),
            what="timer engine",
        )

    async def transfer_pop_records(self, address: str, *, timeout_s: float | None = None) -> None:
        """Move the records of POP from RocksDB to the files, where the broker has them there."""
        await self._broker(
            address, JavaOnlyCode.POP_ROLLBACK, what="POP records", timeout_s=timeout_s
        )

    async def check_rocksdb_queues(
        self, address: str, *, topic: str, from_ms: int
    ) -> bodies.CheckRocksdbCqWriteResult:
        """Start a comparison of the consume queues in RocksDB with those in files.

        Args:
            address: the broker, which writes the result to its log.
            topic: empty for all topics.
            from_ms: compare what was stored at this time or later.
        """
        return await self._body(
            address,
            JavaOnlyCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
            bodies.CheckRocksdbCqWriteResult,
            headers.CheckRocksdbCqWriteProgress(topic=topic, check_store_time=from_ms),
            what="consume queues in RocksDB",
        )

    async def export_rocksdb_config(self, address: str, kinds: Iterable[str]) -> None:
        """Have configuration that is in RocksDB written as JSON files on the broker.

        Args:
            address: the broker.
            kinds: of ``topics``, ``subscriptionGroups`` and ``consumerOffsets``.
        """
        await self._broker(
            address,
            JavaOnlyCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
            headers.ExportRocksDBConfigToJson(config_type=";".join(kinds)),
            what="configuration in RocksDB",
        )

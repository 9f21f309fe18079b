"""Java's layouts of groups with a controller, and of masters with slaves of RocketMQ 5.

Source: tools/command/controller/*.java, tools/command/broker/GetBrokerEpochSubCommand.java,
tools/command/ha/HAStatusSubCommand.java (5.4.0).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from mqadmin.output.compat.java_text import (
    DONE,
    Line,
    Record,
    mapping,
    number,
    parts,
    time_text,
)

KIB: Final = 1024


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def sync_state_set(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getSyncStateSet``."""
    for broker, group in groupby(records, lambda record: record["broker"]):
        replicas = list(group)
        first = replicas[0]
        in_sync = [replica for replica in replicas if replica["state"] != "BEHIND"]
        yield (
            f"\n#brokerName\t{broker}\n#MasterBrokerId\t{_text(first['master_id'])}\n"
            f"#MasterAddr\t{_text(first['master_address'])}\n"
            f"#MasterEpoch\t{first['master_epoch']}\n"
            f"#SyncStateSetEpoch\t{first['in_sync_set_epoch']}\n"
            f"#SyncStateSetNums\t{len(in_sync)}\n"
        )
        for replica in replicas:
            kind = "NotInSyncReplica" if replica["state"] == "BEHIND" else "InSyncReplica"
            yield (
                f"\n{kind}:\tReplicaIdentity{{brokerName='{broker}', "
                f"brokerId={replica['broker_id']}, brokerAddress='{replica['address']}', "
                f"alive={str(replica['is_alive']).lower()}}}\n"
            )


def metadata(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getControllerMetaData``."""
    for record in records:
        yield f"\n#ControllerGroup\t{_text(record['group'])}"
        yield f"\n#ControllerLeaderId\t{_text(record['leader_id'])}"
        yield f"\n#ControllerLeaderAddress\t{_text(record['leader_address'])}"
        for peer in str(record["peers"] or "").rstrip(";").split(";"):
            if peer:
                yield f"\n#Peer:\t{peer}"
        yield "\n"


def setting_changed(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateControllerConfig``."""
    changed = [record for record in records if record["result"] in DONE]
    if changed:
        addresses = ", ".join(str(record["address"]) for record in changed)
        values = line.values
        yield f"update controller config success![{addresses}]\n"
        yield f"{values['key']} : {values['value']}\n"


def elected(records: Iterable[Record]) -> Iterator[str]:
    """Print ``electMaster``."""
    for record in records:
        if record["result"] not in DONE:
            continue
        yield (
            f"\n#ClusterName\t{record['cluster']}\n#BrokerName\t{record['broker']}"
            f"\n#BrokerMasterAddr\t{_text(record['master_address'])}"
            f"\n#MasterEpoch\t{_text(record['master_epoch'])}"
            f"\n#SyncStateSetEpoch\t{_text(record['in_sync_set_epoch'])}\n"
        )
        for broker_id, address in mapping(record["members"]).items():
            yield f"\t#Broker\t{broker_id}\t{address}\n"


def cleaned(records: Iterable[Record]) -> Iterator[str]:
    """Print ``cleanBrokerMetadata``."""
    for record in records:
        if record["result"] in DONE:
            yield f"clear broker {record['broker']} metadata from controller success! \n"


def epochs(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getBrokerEpoch``."""
    for record in records:
        yield (
            f"\n#clusterName\t{record['cluster']}\n#brokerName\t{record['broker']}"
            f"\n#brokerAddr\t{record['address']}\n#brokerId\t{record['broker_id']}"
        )
        for entry in parts(record["epochs"]):
            yield (
                f"\n#Epoch: EpochEntry{{epoch={entry['epoch']}, "
                f"startOffset={entry['start_offset']}, endOffset={entry['end_offset']}}}"
            )
        yield "\n"


def ha_status(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``haStatus``: one broker by its address, otherwise the masters.

    A broker without GET_BROKER_HA_STATUS makes Java's tool fail, so it has no line.
    """
    broker = str(line.values.get("broker") or "")
    for record in records:
        is_asked = record["address"] == broker if ":" in broker else record["broker_id"] == 0
        if not is_asked:
            continue
        if record["in_sync_slaves"] is not None:
            yield from _ha_master(record)
        elif record["link"] is not None:
            yield from _ha_slave(record)


def _ha_master(record: Record) -> Iterator[str]:
    connections = parts(record["connections"])
    yield (
        f"\n#MasterAddr\t{record['address']}\n#MasterCommitLogMaxOffset\t{record['log_end']}\n"
        f"#SlaveNum\t{len(connections)}\n#InSyncSlaveNum\t{record['in_sync_slaves']}\n"
    )
    yield (
        f"{'#SlaveAddr':<32}  {'#SlaveAckOffset':<16} {'#Diff':>16} {'#TransferSpeed(KB/s)':>16} "
        f"{'#Status':>16} {'#TransferFromWhere':>16}\n"
    )
    for slave in connections:
        status = "OK" if slave["is_in_sync"] else "Fall Behind"
        yield (
            f"{slave['address']:<32}  {slave['ack_offset']:<16} {slave['lag']:>16} "
            f"{number(slave['size_per_second']) / KIB:>16.2f} {status:>16} "
            f"{slave['next_offset']:>16}\n"
        )


def _ha_slave(record: Record) -> Iterator[str]:
    link = mapping(record["link"])
    yield f"\n#MasterAddr\t{link['master_address']}\n#CommitLogMaxOffset\t{record['log_end']}\n"
    yield f"#TransferSpeed(KB/s)\t{number(link['size_per_second']) / KIB:.2f}\n"
    for name, key in (("LastReadTime", "last_read_ms"), ("LastWriteTime", "last_write_ms")):
        yield f"#{name}\t{time_text(link[key], millis=True)}\n"
    yield f"#MasterFlushOffset\t{link['master_flush_offset']}\n"

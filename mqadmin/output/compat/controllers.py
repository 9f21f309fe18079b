"""Java's layouts of groups with a controller.

Source: tools/command/controller/*.java, tools/command/broker/GetBrokerEpochSubCommand.java (5.4.0).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from mqadmin.output.compat.java_text import DONE, Line, Record, mapping, parts


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

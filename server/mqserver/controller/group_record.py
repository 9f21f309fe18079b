"""The record of one group, that is, of all brokers with one broker name.

    {"brokerName":"g","clusterName":"C","inSyncSet":[1,2],"inSyncSetEpoch":3,"masterEpoch":2,
     "masterId":1,"nextBrokerId":3,"replicas":{1:{"address":"h:1","checkCode":"h:1;17"},2:{…}}}

Rule: a record is one value. Each change of ``group_rules`` replaces it as a whole, so a store that
can compare and swap one value is enough to agree on it.

Source: controller/impl/manager/BrokerReplicaInfo.java, SyncStateInfo.java (5.4.0). The JSON is
ours, since nothing but a controller of Java reads Java's event log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from storefmt.config import fastjson
from storefmt.config.fastjson import Json, Key
from storefmt.errors import ConfigDamaged

FIRST_BROKER_ID: Final = 1


@dataclass(frozen=True, slots=True)
class Replica:
    """One broker of a group."""

    address: str
    """``host:port`` for clients and for the controller."""
    check_code: str
    """The check code that the broker sent with its id; with it, it may claim the same id again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """Everything that a controller remembers about a group."""

    cluster_name: str
    broker_name: str
    replicas: Mapping[int, Replica] = field(default_factory=lambda: MappingProxyType({}))
    """The brokers by id."""
    next_broker_id: int = FIRST_BROKER_ID
    """The next free id. No id is assigned twice, not even after its broker was removed."""
    master_id: int | None = None
    """None while the group has no master."""
    master_epoch: int = 0
    """Grows with each election; 0 before the first one."""
    in_sync_set: frozenset[int] = frozenset()
    """The brokers that have every acknowledged message, the master included."""
    in_sync_set_epoch: int = 0
    """Grows with each change of the set."""

    @property
    def master_address(self) -> str | None:
        """Return the address of the master, or None while there is none."""
        return None if self.master_id is None else self.address_of(self.master_id)

    def address_of(self, broker_id: int) -> str | None:
        """Return the address of a broker, or None for an unknown id."""
        replica = self.replicas.get(broker_id)
        return None if replica is None else replica.address

    def to_json(self) -> dict[Key, Json]:
        """Return the record as a JSON object with its keys in alphabetical order."""
        replicas: dict[Key, Json] = {
            broker_id: {"address": replica.address, "checkCode": replica.check_code}
            for broker_id, replica in sorted(self.replicas.items())
        }
        record: dict[Key, Json] = {
            "brokerName": self.broker_name,
            "clusterName": self.cluster_name,
            "inSyncSet": list[Json](sorted(self.in_sync_set)),
            "inSyncSetEpoch": self.in_sync_set_epoch,
            "masterEpoch": self.master_epoch,
            "nextBrokerId": self.next_broker_id,
            "replicas": replicas,
        }
        if self.master_id is not None:
            record["masterId"] = self.master_id
        return dict(sorted(record.items(), key=lambda item: str(item[0])))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the record that a JSON object holds.

        Raises:
            ConfigDamaged: a key is missing or its value has the wrong kind.
        """
        fields = _object(value, "a group")
        replicas = {}
        for key, entry in _object(fields.get("replicas"), "replicas").items():
            replica = _object(entry, f"replica {key}")
            replicas[_broker_id(key)] = Replica(
                _text(replica, "address"), _text(replica, "checkCode")
            )
        in_sync_set = fields.get("inSyncSet")
        if not isinstance(in_sync_set, list) or not all(map(_is_number, in_sync_set)):
            raise ConfigDamaged("inSyncSet: expected a list of broker ids")
        master_id = fields.get("masterId")
        return cls(
            cluster_name=_text(fields, "clusterName"),
            broker_name=_text(fields, "brokerName"),
            replicas=MappingProxyType(replicas),
            next_broker_id=_number(fields, "nextBrokerId"),
            master_id=None if master_id is None else _number(fields, "masterId"),
            master_epoch=_number(fields, "masterEpoch"),
            in_sync_set=frozenset(map(_broker_id, in_sync_set)),
            in_sync_set_epoch=_number(fields, "inSyncSetEpoch"),
        )


def encode_record(record: GroupRecord) -> str:
    """Return the record as JSON text."""
    return fastjson.dumps(record.to_json())


def decode_record(text: str) -> GroupRecord:
    """Return the record that a JSON text holds.

    Raises:
        ConfigDamaged: the text is not such a record.
    """
    return GroupRecord.from_json(fastjson.loads(text))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(value: Json, name: str) -> dict[Key, Json]:
    if not isinstance(value, dict):
        raise ConfigDamaged(f"{name}: expected an object, found {type(value).__name__}")
    return value


def _number(fields: dict[Key, Json], key: str) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigDamaged(f"{key}: expected a number from 0, found {value!r}")
    return value


def _text(fields: dict[Key, Json], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise ConfigDamaged(f"{key}: expected a text, found {type(value).__name__}")
    return value


def _broker_id(key: object) -> int:
    try:
        return int(str(key))
    except ValueError:
        raise ConfigDamaged(f"{key!r} is not the id of a broker") from None

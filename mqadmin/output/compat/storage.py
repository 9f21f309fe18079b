"""Java's layouts of how a broker of 5.x stores: cold data, read-ahead, timer engine, RocksDB.

Source: tools/command/broker/*ColdDataFlowCtr*.java, CommitLogSetReadAheadSubCommand.java,
SwitchTimerEngineSubCommand.java, tools/command/export/ExportPopRecordCommand.java,
tools/command/metadata/RocksDBConfigToJsonCommand.java,
tools/command/queue/CheckRocksdbCqWriteProgressCommand.java,
tools/command/message/DumpCompactionLogCommand.java (5.4.0).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from mqadmin.output.compat.java_text import DONE, Line, Record, map_text, number, time_text
from mqadmin.output.compat.printed import message_form
from mqadmin.output.rows import WOULD_CHANGE
from storefmt.config.fastjson import Dialect, Json, Key, dumps
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

ENGINES: Final = {"FILES": "FILE_TIME_WHEEL", "ROCKSDB": "ROCKSDB_TIMELINE"}
PROPERTIES_CAPACITY: Final = 128
SERVERS_CAPACITY: Final = 4
"""The sizes with which 5.4.0 makes its maps of properties, and of masters with their slaves."""


def cold_data(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``getColdDataFlowCtrInfo``: the table of each broker as JSON."""
    for address, group in _servers(records):
        rows = [row for row in group if row["group"] is not None]
        reading = [row for row in rows if number(row["last_read_ms"])]
        limits: Json = {
            str(row["group"]): number(row["limit"]) for row in rows if row["is_own_limit"]
        }
        table: dict[Key, Json] = {
            "runtimeTable": {str(row["group"]): _reads(row) for row in reading},
            "configTable": limits,
            "cgColdReadThreshold": number(group[0]["common_limit"]),
            "globalColdReadThreshold": number(group[0]["all_limit"]),
            "globalAcc": number(group[0]["all_read_bytes"]),
        }
        yield _head(address, group[0], line)
        yield dumps(table, pretty=True, dialect=Dialect.FASTJSON2) + "\n"


def _reads(row: Record) -> Json:
    reads: dict[Key, Json] = {
        "coldAcc": number(row["read_bytes"]),
        "lastColdReadTimeFormat": time_text(row["last_read_ms"], millis=False),
        "createTimeFormat": time_text(row["since_ms"], millis=False),
    }
    return {key: reads[key] for key in hash_order(reads, lambda key: string_hash(str(key)))}


def cold_data_limit(records: Iterable[Record]) -> Iterator[str]:
    """Print ``updateColdDataFlowCtrGroupConfig``."""
    for record in _done(records):
        yield f"updateColdDataFlowCtrGroupConfig success, {record['address']}\n"


def cold_data_removed(records: Iterable[Record]) -> Iterator[str]:
    """Print ``removeColdDataFlowCtrGroupConfig``, which succeeds even without a limit."""
    for record in _done(records):
        yield f"remove broker cold read threshold success, {record['address']}\n"


def read_ahead(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``setCommitLogReadAheadMode``."""
    mode = "0" if line.values["mode"] == "normal" else "1"
    for address, group in _servers(records):
        yield _head(address, group[0], line)
        if group[0]["result"] in DONE:
            yield (
                "commitLog set readAhead mode rstStr"
                f"set commitlog readahead mode success, mode: {mode}\n"
            )


def timer_engine(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``switchTimerEngine``, which spells the engine in two ways."""
    engine = str(line.values["engine"])
    shown = engine[0] if line.values["broker"] is not None else ENGINES[engine]
    for record in _done(records):
        yield f"switchTimerEngine to {shown} success, {record['address']}\n"


def pop_records(records: Iterable[Record]) -> Iterator[str]:
    """Print ``exportPopRecord``."""
    table = {str(name): list(group) for name, group in groupby(records, lambda row: row["broker"])}
    for name in hash_order(table, string_hash):
        for record in table[name]:
            if record["result"] in {*DONE, WOULD_CHANGE}:
                is_dry = str(record["result"] == WOULD_CHANGE).lower()
                where = f"brokerName={name}, brokerAddr={record['address']}, dryRun={is_dry}"
                yield f"Export broker records, {where}\n"


def exported_config(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``rocksDBConfigToJson`` with ``-c`` or ``-b``."""
    whom = "all brokers in cluster" if "c" in line.flags else "broker"
    yield f"Use [rpc mode] call {whom} to export to json file \n"
    if all(record["result"] in DONE for record in records):
        yield "broker export done."


def queue_check(records: Iterable[Record]) -> Iterator[str]:
    """Print ``checkRocksdbCqWriteProgress``."""
    table = {str(record["broker"]): record for record in records}
    for name in hash_order(table, string_hash):
        if table[name]["status"] == "FAILED":
            errors = table[name]["remark"]
            yield f"{name} check error, please check log... errInfo: {errors}"
        else:
            yield f"{name} check doing, please wait and get the result from log... \n"


def compaction_log(records: Iterable[Record]) -> Iterator[str]:
    """Print ``dumpCompactionLog``: messages without broker, body and transaction."""
    for record in records:
        properties = map_text(record["properties"], capacity=PROPERTIES_CAPACITY)
        yield message_form(
            record, broker="null", properties=properties, body="null", transaction="null"
        )
        yield "\n"


def _head(address: str, record: Record, line: Line) -> str:
    if line.values["broker"] is not None:
        return f" ============{address}============\n"
    if record["master"] is None:
        return f" ============Master: {address}============\n"
    return f" ============My Master: {record['master']}=====Slave: {address}============\n"


def _done(records: Iterable[Record]) -> list[Record]:
    """Return the successful changes, in the order of a ``HashSet`` of addresses."""
    changed = [record for record in records if record["result"] in DONE]
    return hash_order(changed, lambda record: string_hash(str(record["address"])))


def _servers(records: Iterable[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the rows of each server: masters as a ``HashMap`` has them, each with its slaves."""
    tables: dict[str, list[Record]] = {}
    slaves: dict[str, list[str]] = {}
    for record in records:
        address, master = str(record["address"]), record.get("master")
        tables.setdefault(address, []).append(record)
        if master is not None and address not in slaves.setdefault(str(master), []):
            slaves[str(master)].append(address)
    mine = {address for addresses in slaves.values() for address in addresses}
    masters = [address for address in tables if address not in mine]
    for address in hash_order(masters, string_hash, capacity=SERVERS_CAPACITY):
        for server in (address, *slaves.get(address, ())):
            yield server, tables[server]

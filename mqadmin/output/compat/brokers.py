"""Java's layouts of clusters, brokers and name servers, and of writes to them.

Source: tools/command/cluster/*.java, broker/*.java, connection/*.java, namesrv/*.java (4.9.7).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from mqadmin.output.compat.java_text import DONE, Layout, Line, Record, number, rate
from mqadmin.output.rows import NOT_FOUND
from mqadmin.output.versions import version_name

CLUSTER_MAX, BROKER_MAX = 16, 22
HOUR_MS: Final = 3_600_000.0
ROUND_TRIP_HEAD: Final = "%-24s  %-24s  %-4s  %-8s  %-8s\n"
ROUND_TRIP: Final = "%-24s  %-24s  %-8s  %-16s  %-16s\n"
WIPES: Final = frozenset({"wipeWritePerm", "broker write-perm wipe"})
PRODUCER: Final = "%04d  %-32s %-22s %-8s %s\n"


def cluster_list(records: Iterable[Record]) -> Iterator[str]:
    """Print ``clusterList``."""
    form = "%-16s  %-22s  %-4s  %-22s %-16s %19s %19s %10s %5s %6s\n"
    yield form % (
        *("#Cluster Name", "#Broker Name", "#BID", "#Addr", "#Version"),
        *("#InTPS(LOAD)", "#OutTPS(LOAD)", "#PCWait(ms)", "#Hour", "#SPACE"),
    )
    for record in records:
        load = {
            way: f"{rate(record[f'{way}_tps']):9.2f}"
            f"({number(record[f'{pool}_queue_size'])},{number(record[f'{pool}_wait_ms'])}ms)"
            for way, pool in (("in", "send"), ("out", "pull"))
        }
        age_ms = number(record["now_ms"]) - number(record["earliest_ms"])
        yield form % (
            str(record["cluster"])[:CLUSTER_MAX],
            str(record["broker"])[:BROKER_MAX],
            record["broker_id"],
            record["address"],
            record["version"],
            *(load["in"], load["out"]),
            number(record["page_cache_lock_ms"]),
            f"{age_ms / HOUR_MS:2.2f}",
            f"{rate(record['disk_ratio']):.4f}",
        )


def cluster_totals(records: Iterable[Record]) -> Iterator[str]:
    """Print ``clusterList -m``."""
    form = "%-16s  %-32s %14s %14s %14s %14s\n"
    yield form % (
        *("#Cluster Name", "#Broker Name"),
        *("#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday"),
    )
    for record in records:
        yield form % (
            str(record["cluster"])[:CLUSTER_MAX],
            str(record["broker"])[:32],
            *(number(record[f"{way}_yesterday"]) for way in ("in", "out")),
            *(number(record[f"{way}_today"]) for way in ("in", "out")),
        )


def round_trips(records: Iterable[Record]) -> Iterator[str]:
    """Print ``clusterRT``, whose header is narrower than its lines."""
    head = ("#Cluster Name", "#Broker Name", "#RT", "#successCount", "#failCount")
    yield ROUND_TRIP_HEAD % head
    for record in records:
        yield ROUND_TRIP % (
            record["cluster"],
            record["broker"],
            f"{rate(record['rt_ms']):.2f}",
            record["sent"],
            record["failed"],
        )


def producer_connections(records: Iterable[Record]) -> Iterator[str]:
    """Print ``producerConnection``."""
    for count, record in enumerate(records, 1):
        yield PRODUCER % (
            count,
            record["client_id"],
            record["client_address"],
            record["language"],
            version_name(number(record["version"])),
        )


def once_a_key(text: str) -> Layout:
    """Return a layout that prints a text once for any number of name servers."""
    return lambda records: (text for _ in groupby(records, lambda record: record["key"]))


def namesrv_setting(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateNamesrvConfig``, with the name servers that ``-n`` names."""
    for record in list(records)[:1]:
        servers = line.namesrv.strip().replace(",", ";").split(";") if line.namesrv else []
        where = f"[{', '.join(servers)}]" if servers else ""
        yield f"update name server config success!{where}\n{record['key']} : {record['value']}\n"


def write_perm(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``wipeWritePerm`` and ``addWritePerm``; an unknown broker is not a failure."""
    verb = "wipe" if line.name in WIPES else "add"
    for record in records:
        said = f"{verb} write perm of broker[{record['broker']}] in name server"
        is_done = record["result"] in {*DONE, NOT_FOUND}
        how = f"OK, {number(record['topics'])}" if is_done else "Failed"
        yield f"{said}[{record['namesrv']}] {how}\n"


def clean(records: Iterable[Record]) -> Iterator[str]:
    """Print ``cleanExpiredCQ``, ``cleanUnusedTopic`` and ``deleteExpiredCommitLog``."""
    yield "success" if all(record["result"] == "done" for record in records) else "false"


def nothing(records: Iterable[Record]) -> Iterator[str]:
    """Print ``startMonitoring``, which writes what it finds to the log of its client."""
    list(records)
    yield from ()

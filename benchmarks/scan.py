"""How fast a commit log is scanned offline, against a plain CRC over the same bytes.

    python -m benchmarks.scan                        a log of 512 MiB, made for the run
    python -m benchmarks.scan FILE --against isal    a commit log file of your own
    python -m benchmarks.scan --body 200             other bodies; the costs are per record

Every way of reading goes over the same file, in turn, round by round; figures are CPU time of
this one thread, best of the rounds, with the file in the page cache. Quote the ratio to the
plain CRC of the same run, not the GB/s: machines differ by more than any change of the code.
"""

import argparse
import importlib.util
import os
import platform
import random
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from storefmt.message import Record, crc32, encode_record
from storefmt.scan import WINDOW_SIZE, LogFile, scan_log, walk

MIB: Final = 1 << 20
PROPERTIES: Final = (
    b"UNIQ_KEY\x01FD00000000000000000000000000000208A74E0E2F2A67EF8B4C0000\x02"
    b"CLUSTER\x01DefaultCluster\x02TAGS\x01TagA"
)
Way = Callable[[LogFile], int]
"""Goes over a file once; returns how many records it saw, 0 where it sees none."""


def make_log(path: Path, *, size: int, body_size: int) -> None:
    """Write one commit log file of about ``size`` bytes, of equal records."""
    body = random.Random(body_size).randbytes(body_size)
    log_offset = 0
    with path.open("wb") as file:
        while log_offset < size:
            record = encode_record(
                topic=b"bench_topic",
                queue_id=1,
                queue_offset=log_offset // 1000,
                log_offset=log_offset,
                flag=0,
                sys_flag=0,
                born_ms=1,
                born_host=bytes(8),
                store_ms=2,
                store_host=bytes(8),
                reconsume_times=0,
                prepared_transaction_offset=0,
                body=body,
                properties=PROPERTIES,
            )
            file.write(record)
            log_offset += len(record)


def scanned(file: LogFile, check_crc: bool) -> int:
    """Scan by windows in one buffer; return the number of records."""
    window = memoryview(bytearray(WINDOW_SIZE))
    pos = count = 0
    while pos < file.size:
        size = file.read_into(window, pos)
        starts, end = scan_log(window, 0, size, check_crc=check_crc)
        if not starts:
            # A record larger than the window, a blank, or the end: the walk takes those.
            break
        pos, count = pos + end, count + len(starts)
    return count


def walked(file: LogFile, check_crc: bool) -> int:
    """Decode every record wholly; return how many."""
    items = walk(file.read, base=file.base, size=file.size, check_crc=check_crc)
    return sum(isinstance(item, Record) for item in items)


def summed(file: LogFile, crc: Callable[[memoryview, int], int]) -> int:
    """Take one CRC over all bytes of the file; there are no records in it."""
    window = memoryview(bytearray(WINDOW_SIZE))
    value = 0
    for pos in range(0, file.size, WINDOW_SIZE):
        value = crc(window[: file.read_into(window, pos)], value)
    return 0


def copied(file: LogFile) -> int:
    """Read by the same windows and look at nothing."""
    window = memoryview(bytearray(WINDOW_SIZE))
    for pos in range(0, file.size, WINDOW_SIZE):
        file.read_into(window, pos)
    return 0


def arrow_ways(path: Path) -> dict[str, Way]:
    """Return the decoders into Arrow columns, none where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return {}
    from storefmt.columns import DEFAULT_COLUMNS, iter_batches

    def decoded(columns: Sequence[str]) -> int:
        return sum(batch.num_rows for batch in iter_batches([path], columns=columns))

    few = ("topic", "queue_id", "queue_offset", "commit_log_offset", "store_timestamp")
    known = [name for name in DEFAULT_COLUMNS if name in few]
    return {
        "arrow, default columns": lambda _: decoded(DEFAULT_COLUMNS),
        f"arrow, {len(known)} columns": lambda _: decoded(known),
    }


def ways(path: Path) -> dict[str, Way]:
    """Return what is measured, by its name."""
    return {
        "read alone": copied,
        "plain zlib crc32": lambda file: summed(file, zlib.crc32),
        f"plain {crc_library()} crc32": lambda file: summed(file, crc32),
        "scan, no crc": lambda file: scanned(file, False),
        "scan with crc": lambda file: scanned(file, True),
        "walk, no crc": lambda file: walked(file, False),
        "walk with crc": lambda file: walked(file, True),
        **arrow_ways(path),
    }


def crc_library() -> str:
    """Return ``isal`` where it is installed, else ``zlib``."""
    return "isal" if "isal" in (crc32.__module__ or "") else "zlib"


def measure(path: Path, rounds: int) -> dict[str, tuple[float, int]]:
    """Return the best CPU time (s) of each way and the records it saw."""
    best: dict[str, tuple[float, int]] = {}
    with LogFile(path) as file:
        for _ in range(rounds + 1):
            for name, way in ways(path).items():
                started = time.process_time()
                count = way(file)
                spent = time.process_time() - started
                # The first round only brings the file into the page cache.
                known = best.get(name)
                best[name] = (min(spent, known[0]) if known else spent, count)
    return best


def report(path: Path, best: dict[str, tuple[float, int]], against: str) -> None:
    """Print one line a way: GB/s, ratio to the plain CRC, ns a record."""
    size = os.path.getsize(path)
    base = best[f"plain {against} crc32"][0]
    print(f"# {size / MIB:,.0f} MiB; Python {platform.python_version()}, {platform.machine()}")
    print(f"{'':24}{'GB/s CPU':>10}{'x ' + against:>10}{'ns/record':>11}")
    for name, (spent, count) in best.items():
        each = f"{spent / count * 1e9:11,.0f}" if count else f"{'–':>11}"
        print(f"{name:24}{size / spent / 1e9:10.2f}{base / spent:10.2f}{each}")


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; see the top of the file."""
    parser = argparse.ArgumentParser(prog="benchmarks.scan", description="offline scan rates")
    parser.add_argument("file", nargs="?", type=Path, help="a commit log file (20 digits)")
    parser.add_argument("--against", choices=["zlib", "isal"], default="zlib")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size-mib", type=int, default=512)
    parser.add_argument("--body", type=int, default=1024, help="bytes a body")
    options = parser.parse_args(arguments)
    if options.against == "isal" and crc_library() != "isal":
        parser.error("isal is not installed; `pip install isal`, or compare with zlib")
    with tempfile.TemporaryDirectory() as scratch:
        path = options.file
        if path is None:
            path = Path(scratch) / f"{0:020d}"
            make_log(path, size=options.size_mib * MIB, body_size=options.body)
        report(path, measure(path, options.rounds), options.against)
    return 0


if __name__ == "__main__":
    sys.exit(main())

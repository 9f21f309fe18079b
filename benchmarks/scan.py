"""Offline scan and decoding of a commit log, against plain CRCs, Java's decoder and a loop in Java.

    python -m benchmarks.scan                   logs of 1 GiB with large and small records
    python -m benchmarks.scan FILE              a commit log file of your own
    python -m benchmarks.scan --write FILE      append the tables to a file, too

Every way goes over the same bytes, in turn, round by round, on one core, with the file in
the page cache; figures are medians of CPU time. "In memory" means over a mapping that is
there already; "file" means with what it costs to get the bytes out of the page cache, in
Java as in Python by reading window after window into one buffer.
Quote ratios of one run, not GB/s: machines differ by more than any change of the code.
"""

import argparse
import mmap
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.logs import make_log
from benchmarks.telling import markdown, tell
from storefmt.arrow.columns import SCHEMA, iter_batches
from storefmt.formats.message import Record, crc32
from storefmt.formats.scan import WINDOW_SIZE, LogFile, Scan, scan_items, scan_pure
from storefmt.kernels import forms
from tests.golden import REPOSITORY
from tests.interop.kit.java_build import class_path

MIB: Final = 1 << 20
JAVA: Final = REPOSITORY / "benchmarks" / "java"
BODY_SIZES: Final = (1024, 128)
SIX: Final = (
    "topic",
    "queue_id",
    "queue_offset",
    "log_offset",
    "store_timestamp",
    "body_size",
)
OURS_ALONE: Final = {
    "file", "crc_ok", "properties_raw",
    "tags", "tags_code", "keys", "unique_key", "producer_group",
}  # fmt: skip
"""Columns that Java does not decode, or has in its map of properties alone."""
COLUMNS: Final = {
    "six columns": SIX,
    "six and body": (*SIX, "body"),
    "six, body, properties": (*SIX, "body", "properties"),
    "what a MessageExt holds": tuple(name for name in SCHEMA.names if name not in OURS_ALONE),
    "all columns": tuple(SCHEMA.names),
}
PLAIN: Final = "plain zlib crc32, in memory"
PEER: Final = "Java MessageDecoder, with body, in memory"
PEER_READING: Final = "Java MessageDecoder, with body, file"


class Spent(NamedTuple):
    """CPU seconds of one pass, and the records it saw; 0 where it sees none."""

    cpu_s: float
    count: int


Way = Callable[[], Spent]


def timed(work: Callable[[], int]) -> Way:
    """Return a way that does ``work``, which returns a number of records."""

    def way() -> Spent:
        started_s = time.process_time()
        count = work()
        return Spent(time.process_time() - started_s, count)

    return way


def scanned(fill: Callable[[int], memoryview], scan: Scan, check_crc: bool) -> int:
    """Scan window after window that ``fill`` gives; return the number of records."""
    pos = count = 0
    while window := fill(pos):
        starts, end = scan(window, 0, len(window), check_crc)
        if not starts:
            # A record larger than a window, a blank, or the end of the data.
            break
        pos, count = pos + end, count + len(starts)
    return count


def read_by(file: LogFile) -> Callable[[int], memoryview]:
    """Return a reader of windows into one buffer."""
    buffer = memoryview(bytearray(WINDOW_SIZE))
    return lambda pos: buffer[: file.read_into(buffer, pos)]


def summed(file: LogFile, crc: Callable[[memoryview, int], int] | None) -> int:
    """Read the file by windows and take one CRC over all, or look at nothing."""
    fill, value = read_by(file), 0
    for pos in range(0, file.size, WINDOW_SIZE):
        window = fill(pos)
        if crc is not None:
            value = crc(window, value)
    return 0


def walked(file: LogFile) -> int:
    """Decode every record wholly, as a Python object; return how many."""
    items = scan_items(file.read, base=file.base, size=file.size)
    return sum(isinstance(item, Record) for item in items)


def whole(crc: Callable[[memoryview], int], data: memoryview) -> int:
    """Take one CRC over everything."""
    crc(data)
    return 0


def our_ways(path: Path, file: LogFile, data: memoryview) -> dict[str, Way]:
    """Return what is measured in this process."""
    library = "isal" if "isal" in (crc32.__module__ or "") else "zlib"

    def mapped(pos: int) -> memoryview:
        return data[pos : pos + WINDOW_SIZE]

    ways = {PLAIN: timed(lambda: whole(zlib.crc32, data))}
    if library == "isal":
        ways["plain isal crc32, in memory"] = timed(lambda: whole(crc32, data))
    ways["scan without crc, in memory"] = timed(lambda: scanned(mapped, scan_pure, False))
    for name, scan in forms("scan_compiled").items():
        title = f"scan with crc ({library}), {name}"
        ways[f"{title}, in memory"] = timed(lambda scan=scan: scanned(mapped, scan, True))
    ways["read alone, file"] = timed(lambda: summed(file, None))
    ways["plain zlib crc32, file"] = timed(lambda: summed(file, zlib.crc32))
    for name, scan in forms("scan_compiled").items():
        title = f"scan with crc ({library}), {name}"
        ways[f"{title}, file"] = timed(lambda scan=scan: scanned(read_by(file), scan, True))
    ways["walk: a Record each, crc, file"] = timed(lambda: walked(file))
    for name, columns in COLUMNS.items():
        ways[f"Arrow, {name}, file"] = timed(
            lambda columns=columns: sum(
                batch.num_rows for batch in iter_batches([path], columns=columns)
            )
        )
    return ways


@contextmanager
def java_ways(path: Path) -> Iterator[dict[str, Way]]:
    """Run the Java decoder over the same file; give nothing where there is no Java."""
    if shutil.which("javac") is None:
        print("# no javac: the rows of the Java decoder are left out", file=sys.stderr)
        yield {}
        return
    target, jars = JAVA / "target", class_path()
    source = JAVA / "src" / "Decode.java"
    subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(target), str(source)], check=True)
    # The serial collector: one core is what is compared.
    command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", f"{target}:{jars}", "Decode", str(path)]
    decoder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert decoder.stdin is not None
    assert decoder.stdout is not None

    def ask(kind: str) -> Spent:
        print(kind, file=decoder.stdin, flush=True)
        answer = decoder.stdout.readline().split() if decoder.stdout else []
        if not answer:
            raise ChildProcessError(f"the Java decoder ended with {decoder.wait()}")
        return Spent(float(answer[1]), int(answer[0]))

    try:
        yield {
            "Java MessageDecoder, no body, in memory": lambda: ask("mapped decoder head"),
            PEER: lambda: ask("mapped decoder body"),
            PEER_READING: lambda: ask("file decoder body"),
            "Java, a loop with crc: six columns, in memory": lambda: ask("mapped plain head"),
            "Java, a loop with crc: six and body, in memory": lambda: ask("mapped plain body"),
            "Java, a loop with crc: six columns, file": lambda: ask("file plain head"),
            "Java, a loop with crc: six and body, file": lambda: ask("file plain body"),
        }
    finally:
        decoder.stdin.close()
        decoder.wait(60)


def measure(path: Path, rounds: int) -> dict[str, list[Spent]]:
    """Return what each way spent in each round; two more rounds warm the JIT and the cache."""
    spent: dict[str, list[Spent]] = {}
    with ExitStack() as stack:
        file = stack.enter_context(LogFile(path))
        mapping = stack.enter_context(path.open("rb"))
        whole_file = mmap.mmap(mapping.fileno(), 0, access=mmap.ACCESS_READ)
        java = stack.enter_context(java_ways(path))
        ways = {**our_ways(path, file, memoryview(whole_file)), **java}
        for way in 2 * list(java.values()):
            way()
        for number in range(rounds + 1):
            for name, way in ways.items():
                found = way()
                if number:
                    spent.setdefault(name, []).append(found)
    counts = {each[0].count for each in spent.values()} - {0}
    if len(counts) != 1:
        raise ValueError(f"the ways do not see the same records, but {sorted(counts)}")
    return spent


def table(path: Path, spent: dict[str, list[Spent]]) -> str:
    """Return one line a way: GB/s, ns a record, ratios of the same round, as Markdown."""
    size = os.path.getsize(path)
    count = max(each[0].count for each in spent.values())
    head = (
        f"{time.strftime('%Y-%m-%d')}, {size / MIB:,.0f} MiB, {count:,} records of "
        f"{size / count:,.0f} bytes, medians of {len(spent[PLAIN])} rounds; "
        f"Python {platform.python_version()}, {platform.machine()}"
    )
    rows = []
    for name, each in spent.items():
        cpu_s = statistics.median(found.cpu_s for found in each)
        ns = f"{cpu_s / count * 1e9:,.0f}" if each[0].count else "–"
        decodes = PEER in spent and name.startswith(("Arrow", "walk", "Java"))
        ratios = [_ratio(spent[PLAIN], each)]
        ratios += [_ratio(spent[peer], each) if decodes else "–" for peer in (PEER, PEER_READING)]
        rows.append([name, f"{size / cpu_s / 1e9:.2f}", ns, *ratios])
    titles = ["way", "GB/s of CPU time", "ns a record", "against plain zlib"]
    table = markdown([*titles, "against Java in memory", "against Java, file"], rows)
    return f"{head}\n\n{table}"


def _ratio(base: list[Spent], other: list[Spent]) -> str:
    pairs = zip(base, other, strict=True)
    return f"{statistics.median(a.cpu_s / b.cpu_s for a, b in pairs):.2f}x"


def size_of(text: str) -> int:
    """Return the bytes that ``1GiB`` or ``512MiB`` says."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB)):
        if text.endswith(unit) and text.removesuffix(unit).isdecimal():
            return int(text.removesuffix(unit)) * factor
    raise argparse.ArgumentTypeError(f"size {text!r}; give it as 1GiB or 512MiB")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the tables; see the top of the file."""
    parser = argparse.ArgumentParser(prog="benchmarks.scan", description="offline scan rates")
    parser.add_argument("file", nargs="?", type=Path, help="a commit log file (20 digits)")
    parser.add_argument("--size", type=size_of, default=1 << 30, help="of a log that is made")
    parser.add_argument("--body", type=int, nargs="+", default=BODY_SIZES, help="body sizes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help="append the tables to this file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mq-scan-") as scratch:
        paths = [options.file] if options.file else []
        for body_size in [] if options.file else options.body:
            folder = Path(scratch) / str(body_size)
            folder.mkdir()
            paths.append(folder / f"{0:020d}")
            make_log(paths[-1], size=options.size, body_size=body_size)
        for path in paths:
            text = table(path, measure(path, options.rounds))
            tell(text, options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())

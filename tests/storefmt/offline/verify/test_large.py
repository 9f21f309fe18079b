"""Large stores, as sparse files: what is read of them, and how much memory it takes."""

import struct
from collections import Counter
from pathlib import Path

import pytest

from storefmt.formats.hosts import pack_host
from storefmt.formats.message import blank, encode_record
from storefmt.offline import StoreDir
from storefmt.store_file import StoreFile
from tests.golden import Golden
from tests.programs import python

HOST = pack_host("127.0.0.1", 10911)
FILE_SIZE = 1 << 30
START_MS = 1_700_000_000_000


def sparse_store(root: Path, file_count: int) -> Path:
    """Make a store of 1 GiB files with one message at the start of each."""
    log, queue = root / "commitlog", root / "consumequeue" / "T" / "0"
    log.mkdir(parents=True)
    queue.mkdir(parents=True)
    (root / "config").mkdir()
    entries = b""
    for number in range(file_count):
        start = number * FILE_SIZE
        record = encode_record(
            topic=b"T", queue_id=0, queue_offset=number, log_offset=start, flag=0, sys_flag=0,
            born_ms=START_MS + number, born_host=HOST, store_ms=START_MS + number,
            store_host=HOST, reconsume_times=0, prepared_transaction_offset=0, body=b"x" * 100,
            properties=b"KEYS\x01k%d" % number,
        )  # fmt: skip
        entries += struct.pack(">qiq", start, len(record), 0)
        with (log / f"{start:020d}").open("wb") as file:
            file.truncate(FILE_SIZE)
            file.write(record)
            if number < file_count - 1:
                file.write(blank(FILE_SIZE - len(record)))
    (queue / f"{0:020d}").write_bytes(entries.ljust(6_000_000, b"\0"))
    return root


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the reads of files, and their bytes."""
    counts: Counter[str] = Counter()
    original = StoreFile.read

    def read(self: StoreFile, pos: int, size: int) -> bytes:
        data = original(self, pos, size)
        counts["reads"] += 1
        counts["bytes"] += len(data)
        return data

    monkeypatch.setattr(StoreFile, "read", read)
    return counts


def test_info_of_a_thousand_files_reads_little(tmp_path: Path, reads: Counter[str]) -> None:
    with StoreDir.open(sparse_store(tmp_path, 1000)) as store:
        info = store.info()

    assert info.log_file_count == 1000
    assert info.message_count == 1000
    assert info.first_ms == START_MS
    assert info.last_ms == START_MS + 999
    assert reads["reads"] < 3000
    assert reads["bytes"] < 32 << 20


def test_get_touches_one_record(golden: Golden, reads: Counter[str]) -> None:
    path = golden.store("default-geometry")
    line = [line for line in golden.jsonl("default-geometry", "records") if "phy" in line][50]
    with StoreDir.open(path) as store:
        reads.clear()
        record = store.record_at(line["phy"])

    assert record.log_offset == line["phy"]
    assert reads["reads"] <= 8
    assert reads["bytes"] <= 3 << 20


def test_a_key_is_found_without_reading_the_log(golden: Golden, reads: Counter[str]) -> None:
    path = golden.store("default-geometry")
    lines = [line for line in golden.jsonl("default-geometry", "records") if "phy" in line]
    line = next(line for line in lines if line.get("properties", {}).get("KEYS"))
    key = line["properties"]["KEYS"].split()[0]
    with StoreDir.open(path) as store:
        end = store.log.end
        reads.clear()
        found = store.query_key(line["topic"], key)

    assert line["phy"] in [record.log_offset for record in found]
    assert reads["bytes"] < (6 << 20) + end // 2
    assert reads["reads"] < 100


def test_the_tail_behind_the_index_is_reached_without_a_walk(
    tmp_path: Path, reads: Counter[str]
) -> None:
    with StoreDir.open(sparse_store(tmp_path, 3)) as store:
        end = store.log.end
        reads.clear()
        items = list(store.records(end - 1))

    assert len(items) <= 1
    assert reads["bytes"] < 8 << 20


@pytest.mark.parametrize("file_count", [2, 20])
def test_verify_takes_little_memory(tmp_path: Path, file_count: int) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here to read the most memory from")
    path = sparse_store(tmp_path, file_count)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from storefmt.offline import StoreDir, verify\n"
        "report = verify(StoreDir.open(sys.argv[1]))\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(report.records, status.partition('VmHWM:')[2].split()[0])\n"
    )

    made = python("-c", script, str(path))

    records, peak_kib = map(int, made.stdout.split())
    assert records == file_count
    assert peak_kib < 128 << 10

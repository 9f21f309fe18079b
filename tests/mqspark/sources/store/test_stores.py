"""Tables and jobs of stores on S3 (moto) and behind webhdfs equal those of the same local files."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from mqspark.errors import BadOption
from mqspark.jobs.diff import diff_local
from mqspark.jobs.duplicates import duplicates_local
from mqspark.jobs.extract import extract_local
from mqspark.jobs.grep import grep_local
from mqspark.jobs.lag import lag_local
from mqspark.jobs.rebuild import rebuild_local
from mqspark.jobs.rewind import rewind_plan_local
from mqspark.jobs.stats import stats_local
from mqspark.jobs.timeline import timeline_local
from mqspark.jobs.trace import trace_local
from mqspark.jobs.verify import verify_local
from mqspark.places import StorageDir
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.source import RocketmqStore
from mqspark.sources.store.stores import AHEAD_SIZE, READ_MIN, file_path, open_store, store_path
from mqspark.sources.store.tables import default_columns, plan, read, table_names
from storefmt.errors import NotAStore, StoreError
from storefmt.formats.scan import LogFile
from tests.golden import Golden
from tests.mqspark.sources.store.reading import rows_of
from tests.programs import python
from tests.storefmt.offline.repair.test_rebuild import PARTS, assert_same_files


@pytest.fixture(params=["s3", "webhdfs"])
def far(request: pytest.FixtureRequest) -> str:
    """Return the URI of an empty folder."""
    uri: str = request.getfixturevalue(request.param)
    return uri


def upload(store: Path, uri: str) -> str:
    place = StorageDir(uri)
    for path in sorted(store.rglob("*")):
        if path.is_file():
            with place.writing(path.relative_to(store).as_posix()) as file:
                file.write(path.read_bytes())
    return uri


def rows(where: str, table: str) -> list[dict[str, Any]]:
    reading = ReadOptions(table=table, columns=default_columns(table), check_crc=table == "damage")
    found = rows_of(where, reading)
    # Object stores have no holes: every byte of a file is there.
    return [{**row, "allocated_bytes": 0} if "allocated_bytes" in row else row for row in found]


def test_every_table_has_the_rows_of_the_same_files_here(golden: Golden, far: str) -> None:
    store = golden.store("ipv6")
    here, there = str(store), upload(store, far)

    for table in table_names():
        assert rows(there, table) == rows(here, table), table


def test_every_job_gives_the_rows_of_the_same_files_here(
    golden: Golden, s3: str, tmp_path: Path
) -> None:
    store = golden.store("basic")
    here, there = str(store), upload(store, s3)
    key = next(row["unique_key"] for row in rows(here, "commitlog") if row["unique_key"])

    def results(where: str, out: Path) -> dict[str, list[dict[str, Any]]]:
        made = {
            "verify": verify_local([where], deep=True),
            "stats": stats_local(where),
            "timeline": timeline_local(where),
            "lag": lag_local([where]),
            "grep": grep_local(where, pattern="[0-9]"),
            "duplicates": duplicates_local(where),
            "diff": diff_local(where, other=here),
            "trace": trace_local([where], key=key, scan=True),
            "rewind": rewind_plan_local([where], to_ms=0),
            "extract": extract_local([where], to=str(out / "extract"), kind="jsonl"),
            "rebuild": rebuild_local({where: str(out / "rebuild")}),
        }
        tables = {name: table.to_pylist() for name, table in made.items()}
        for table in tables.values():
            for row in table:
                row.pop("store", None)
                row.pop("seconds", None)
        return tables

    assert results(there, tmp_path / "there") == results(here, tmp_path / "here")
    for part in PARTS:
        assert_same_files(tmp_path / "there" / "rebuild", Path(here), part)


def test_damage_far_away_is_told_as_here(golden: Golden, far: str) -> None:
    here = golden.damaged("33-magic-wrong")
    there = upload(here, far)

    (found,), (expected,) = verify_local([there]).to_pylist(), verify_local([str(here)]).to_pylist()

    assert found["findings"] == expected["findings"] != []
    assert rows(there, "damage") == rows(str(here), "damage") != []


def test_what_is_no_store_or_gone_is_named(golden: Golden, far: str) -> None:
    with pytest.raises(NotAStore, match=f"{far}: no such directory"):
        open_store(far)
    there = upload(golden.store("ipv6"), far)
    reading = ReadOptions()
    split = plan(there, reading)[0]._replace(path=f"{there}/commitlog/00000000000099999999")
    with pytest.raises(OSError, match=f"{there}/commitlog/00000000000099999999"):
        list(read(split, reading))
    with pytest.raises(StoreError, match=f"{there}/checkpoint: a file, expected"):
        open_store(f"{there}/checkpoint")


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreError, match=r"webhdfs://127\.0\.0\.1:1/store"):
        store_path("webhdfs://127.0.0.1:1/store")
    with pytest.raises(BadOption, match="gopher://x/y cannot be opened"):
        store_path("gopher://x/y")


def test_options_reach_a_store_without_the_environment(
    golden: Golden, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = golden.store("ipv6")
    there, endpoint = upload(store, s3), os.environ["AWS_ENDPOINT_URL"]
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    keys = {"storage.accessKey": "key", "storage.secretKey": "secret"}
    options = {"path": there, "table": "topics", "storage.endpoint": endpoint, **keys}

    source = RocketmqStore(options)
    reader = source.reader(source.schema())
    found = [
        row
        for task in reader.partitions()
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]

    assert found == rows(str(store), "topics") != []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"storage.region": "eu"}, "storage.region is for a store on s3://, not for /data"),
        ({"path": "s3://b/x", "storage.accessKey": "me"}, "storage.secretKey go together"),
        ({"path": "s3://b/x", "storage.endpoint": "host:1"}, "expected http://HOST:PORT"),
        ({"path": "s3://b/x", "storage.anonymous": "perhaps"}, "expected false or true"),
        (
            {"path": "s3://b/x", "storage.anonymous": "true"}
            | {"storage.accessKey": "me", "storage.secretKey": "hush"},
            "contradict each other",
        ),
    ],
)
def test_options_of_a_storage_are_refused_by_name(options: dict[str, str], says: str) -> None:
    source = RocketmqStore({"path": "/data", **options})

    with pytest.raises(BadOption, match=says):
        source.reader(source.schema())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[int, int]]:
    """Return the ranges that are asked of a file of 40 MiB, as a list that grows."""
    found: list[tuple[int, int]] = []

    class Seen:
        def open_input_file(self, path: str) -> "Seen":
            self.file = pafs.LocalFileSystem().open_input_file(path)
            return self

        def get_file_info(self, path: str) -> Any:
            return pafs.LocalFileSystem().get_file_info(path)

        def read_at(self, size: int, pos: int) -> bytes:
            found.append((pos, size))
            data: bytes = self.file.read_at(size, pos)
            return data

        def close(self) -> None:
            self.file.close()

    (tmp_path / "00000000000000000000").write_bytes(os.urandom(1 << 20) * 40)
    monkeypatch.setattr(StorageDir, "filesystem", lambda self: Seen())
    monkeypatch.setattr(StorageDir, "path", lambda self, name: "/" + self.uri.partition("://")[2])
    return found


def test_files_are_read_by_ranges(tmp_path: Path, asked: list[tuple[int, int]]) -> None:
    name = "00000000000000000000"
    whole = (tmp_path / name).read_bytes()

    with LogFile(file_path(f"s3://{tmp_path}/{name}")) as file:
        assert file.size == len(whole) == 40 << 20
        assert file.read(39 << 20, 100) == whole[39 << 20 :][:100]
        assert file.read((39 << 20) + 100, 4) == whole[(39 << 20) + 100 :][:4]
        assert asked == [(39 << 20, READ_MIN)]
        for pos in range(0, len(whole), 1 << 20):
            assert file.read(pos, 1 << 20) == whole[pos : pos + (1 << 20)]
        assert file.read(len(whole) - 3, 10) == whole[-3:]
        assert file.read(len(whole), 10) == b""

    assert len(asked) <= 1 + 1 + -(-len(whole) // AHEAD_SIZE) + 1
    assert max(size for _, size in asked) == AHEAD_SIZE


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17")
def test_workers_of_spark_read_s3(golden: Golden, s3: str) -> None:
    store = golden.store("ipv6")
    there = upload(store, s3)

    done = python("-m", "mqspark", "stats", there, "--master", "local[1]")

    total = sum(json.loads(line)["messages"] for line in done.stdout.splitlines())
    assert total == len(rows(str(store), "commitlog"))
